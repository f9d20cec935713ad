import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkAnswer, hashBody, signatureHeaders, signRequest } from "../../server/protocol/request-signature.ts";
import { createSidecarClient } from "../../server/sandboxes/create-sidecar-client.ts";
import { createTestSandbox, deadline, type TestBoot, type TestSandbox, waitUntil } from "../test-sidecar.ts";
import { createRequestVerifier } from "./verify-request.ts";

describe("the sidecar's door", () => {
  let sandbox: TestSandbox;
  let boot: TestBoot;
  beforeAll(async () => {
    sandbox = await createTestSandbox();
    boot = await sandbox.boot();
  });
  afterAll(() => sandbox?.remove());

  function sign(changes: Partial<Parameters<typeof signRequest>[0]> = {}, key = sandbox.privateKey) {
    const { sandboxId, bootId } = boot.launch;
    const nonce = randomBytes(18).toString("base64url");
    const request = { sandboxId, bootId, method: "GET", path: "/logs?after=0", issuedAt: Date.now(), nonce };
    const signed = { ...request, bodyHash: hashBody(""), ...changes };
    return {
      [signatureHeaders.signature]: signRequest(signed, key),
      [signatureHeaders.issuedAt]: String(signed.issuedAt),
      [signatureHeaders.nonce]: signed.nonce,
      [signatureHeaders.bodyHash]: signed.bodyHash,
    };
  }

  async function ask(headers: Record<string, string>, request: { method?: string; path?: string; body?: string } = {}) {
    const { method = "GET", path = "/logs?after=0", body } = request;
    const answer = await boot.connection.request({ method: method as "GET", path, headers, body: body ?? null });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  it("answers what the server signed, once", async () => {
    const headers = sign();
    expect((await ask(headers)).status).toBe(200);
    const again = await ask(headers);
    expect(again.status).toBe(401);
    expect(again.text).toContain("used before");
  });

  const post = { method: "POST", path: "/opencode-history/mark-restored" };
  const refusals: [string, () => Record<string, string>, { method?: string; path?: string; body?: string }?][] = [
    ["without a signature", () => ({})],
    ["with another key", () => sign({}, generateKeyPairSync("ed25519").privateKey)],
    ["for another sandbox", () => sign({ sandboxId: randomUUID() })],
    ["for another boot", () => sign({ bootId: randomUUID() })],
    ["of two minutes ago", () => sign({ issuedAt: Date.now() - 120_000 })],
    ["of the future", () => sign({ issuedAt: Date.now() + 120_000 })],
    ["with a changed time", () => ({ ...sign(), [signatureHeaders.issuedAt]: String(Date.now() + 1_000) })],
    ["with a changed nonce", () => ({ ...sign(), [signatureHeaders.nonce]: randomBytes(18).toString("base64url") })],
    ["with a nonce too short to be random", () => sign({ nonce: "short" })],
    ["with a changed path", () => sign(), { path: "/health2" }],
    ["with a changed query", () => sign(), { path: "/logs?after=1" }],
    ["with a changed method", () => sign({ path: post.path }), post],
    ["with a changed body", () => sign({ ...post, bodyHash: hashBody("{}") }), { ...post, body: "{ }" }],
    ["with a body that was not signed", () => sign(post), { ...post, body: "{}" }],
    ["with a body hash exchanged", () => ({ ...sign(), [signatureHeaders.bodyHash]: hashBody("other") })],
    ["with a body that claims to be a stream", () => sign({ ...post, bodyHash: "stream" }), { ...post, body: "{}" }],
    ["with another lease than was signed", () => ({ ...sign(), [signatureHeaders.leaseEpoch]: "7" })],
    ["with a lease that is no number", () => ({ ...sign(), [signatureHeaders.leaseEpoch]: "x" })],
    ["with a damaged signature", () => ({ ...sign(), [signatureHeaders.signature]: "AAAA" })],
  ];
  it.each(refusals)("refuses a request %s, and proves even that answer", async (_name, headers, request) => {
    const sent = headers();
    const { status, text, headers: answered } = await ask(sent, request);
    expect(status).toBe(401);
    expect(JSON.parse(text).error).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("signature"),
    });
    const nonce = sent[signatureHeaders.nonce];
    if (!nonce || nonce.length < 16) return;
    const secret = Buffer.from(boot.launch.bootSecret, "base64");
    const proof = checkAnswer(String(answered[signatureHeaders.answer]), { nonce, status }, secret);
    expect(proof?.bodyHash).toBe(hashBody(text));
    expect((await boot.client.health(deadline())).gate).toBe("closed");
  });

  it("refuses a body that is too large, and whoever sends it learns why", async () => {
    const body = "x".repeat(33 * 1024 * 1024);
    const headers = sign({ ...post, bodyHash: hashBody(body) });
    const { status, text } = await ask(headers, { ...post, body });
    expect({ status, kind: JSON.parse(text).error.kind }).toEqual({ status: 413, kind: "too-large" });
    const chunks = (async function* () {
      for (let sent = 0; sent < body.length; sent += 65_536) yield Buffer.from(body.slice(sent, sent + 65_536));
    })();
    const streamed = await boot.connection.request({
      method: "POST",
      path: post.path,
      headers: sign({ ...post, bodyHash: hashBody(body) }),
      body: Readable.from(chunks),
    });
    expect(streamed.statusCode).toBe(413);
    await streamed.body.dump();
    expect((await boot.client.health(deadline())).gate).toBe("closed");
  });

  it("says unsigned only that it lives", async () => {
    expect(JSON.parse((await ask({}, { path: "/health" })).text)).toMatchObject({ bootId: boot.launch.bootId });
    expect((await ask({}, { path: "/ready" })).status).toBe(503);
    expect((await ask({}, { path: "/anything" })).status).toBe(401);
  });

  it("does not believe an answer without this boot's proof", async () => {
    const { sandboxId, bootId } = boot.launch;
    const door = { dispatcher: boot.connection, origin: "http://sidecar", connect: noConnection };
    const bootSecret = randomBytes(32);
    const other = createSidecarClient({ door, sandboxId, bootId, bootSecret, privateKey: sandbox.privateKey });
    await expect(other.health(deadline())).rejects.toMatchObject({ kind: "upstream" });
  });

  it("makes a refused signature the server's trouble, not that of whoever asked", async () => {
    const { sandboxId, bootSecret } = boot.launch;
    const client = createSidecarClient({
      door: { dispatcher: boot.connection, origin: "http://sidecar", connect: noConnection },
      sandboxId,
      bootId: randomUUID(),
      bootSecret: Buffer.from(bootSecret, "base64"),
      privateKey: sandbox.privateKey,
    });
    await expect(client.markRestored(deadline())).rejects.toMatchObject({ kind: "upstream" });
  });

  it("refuses a server whose lease another one has taken over, and cuts the calls that run through it", async () => {
    const of = (leaseEpoch: number) =>
      createSidecarClient({
        ...later.launch,
        door: { dispatcher: later.connection, origin: "http://sidecar", connect: noConnection },
        bootSecret: Buffer.from(later.launch.bootSecret, "base64"),
        privateKey: other.privateKey,
        leaseEpoch,
      });
    const other = await createTestSandbox();
    const later = await other.boot();
    try {
      const logs = { method: "GET", path: "/logs", signal: deadline() } as const;
      await of(3).json(logs);
      const calling = fetch(`http://127.0.0.1:${later.launch.agentPort}/llm/test/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ messages: [{ role: "user", content: "@@hang" }] }),
      }).then((answer) => answer.text());
      let outcome = "running";
      const cut = calling.then(
        () => (outcome = "answered"),
        () => (outcome = "cut"),
      );
      await waitUntil(() => other.server.requests.length > 0, "the call at the server");
      await of(3).json(logs);
      await of(3).health(deadline());
      expect(outcome).toBe("running");
      await of(4).json(logs);
      expect(await cut).toBe("cut");
      const late = { kind: "conflict", refusal: "lease-superseded" };
      await expect(of(3).json(logs)).rejects.toMatchObject(late);
      await expect(of(3).restartAgent({}, deadline())).rejects.toMatchObject(late);
      // Whoever may not do anything may still be told how it is.
      await expect(of(3).health(deadline())).resolves.toMatchObject({ bootId: later.launch.bootId });
      await of(4).json(logs);
    } finally {
      await other.remove();
    }
  });

  it.each([
    "GET http://[ HTTP/1.1",
    "GET //[?x=% HTTP/1.1",
    "CONNECT [:x HTTP/1.1",
    "GET * HTTP/1.1",
    "nonsense",
    "\0\xff",
  ])("goes on after %j at either door", async (line) => {
    const { door, agentPort } = boot.launch;
    if (door.kind !== "socket") throw new Error("not a socket");
    for (const socket of [connect(door.path), connect(agentPort, "127.0.0.1")]) {
      socket.on("error", () => {});
      socket.end(`${line}\r\nhost: x\r\nconnection: close\r\n\r\n`).resume();
      await once(socket, "close");
    }
    expect((await boot.client.health(deadline())).gate).toBe("closed");
  });

  it("has no routes but its own", async () => {
    const request = { method: "GET", path: "/nothing-here", signal: deadline() } as const;
    await expect(boot.client.json(request)).rejects.toMatchObject({ kind: "not-found" });
  });
});

function noConnection(): Promise<never> {
  return Promise.reject(new Error("not needed here"));
}

describe("the check of requests", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const base = { sandboxId: "s", bootId: "b", method: "GET", path: "/", bodyHash: hashBody("") };

  function headersAt(issuedAt: number, nonce = randomBytes(18).toString("base64url")) {
    return {
      [signatureHeaders.signature]: signRequest({ ...base, issuedAt, nonce }, privateKey),
      [signatureHeaders.issuedAt]: String(issuedAt),
      [signatureHeaders.nonce]: nonce,
      [signatureHeaders.bodyHash]: base.bodyHash,
    };
  }

  it("tells of each that the server signed, and of no other", () => {
    let signed = 0;
    const onSigned = () => {
      signed += 1;
    };
    const verifier = createRequestVerifier({ sandboxId: "s", bootId: "b", publicKey, onSigned });
    const headers = headersAt(Date.now());
    verifier.verify({ method: "GET", path: "/", headers });
    expect(() => verifier.verify({ method: "GET", path: "/", headers })).toThrow("used before");
    expect(() => verifier.verify({ method: "GET", path: "/other", headers: headersAt(Date.now()) })).toThrow();
    expect(signed).toBe(1);
  });

  it("has a bounded memory for nonces, which has room again when requests have expired", () => {
    let time = 1_000_000;
    const verifier = createRequestVerifier({ sandboxId: "s", bootId: "b", publicKey, now: () => time, maxNonces: 2 });
    const verify = (headers: Record<string, string>) => verifier.verify({ method: "GET", path: "/", headers });
    verify(headersAt(time));
    verify(headersAt(time));
    expect(() => verify(headersAt(time))).toThrow("Too many");
    time += 121_000;
    expect(() => verify(headersAt(time))).not.toThrow();
  });

  it("remembers a nonce for as long as its request could be sent again", () => {
    let time = 1_000_000;
    const verifier = createRequestVerifier({ sandboxId: "s", bootId: "b", publicKey, now: () => time });
    const headers = headersAt(time + 59_000);
    verifier.verify({ method: "GET", path: "/", headers });
    time += 118_000;
    expect(() => verifier.verify({ method: "GET", path: "/", headers })).toThrow("used before");
  });
});
