import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { request as createRequest } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Pool } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  hashBody,
  signatureHeaders,
  signRequest,
  signUpload,
  streamTrailers,
} from "../../server/protocol/request-signature.ts";
import { createSidecarClient } from "../../server/sandboxes/create-sidecar-client.ts";
import { createSidecarArchives } from "../../server/snapshots/sidecar-archives.ts";
import { archiveOf, chunksOf } from "../archive/test-archives.ts";
import { connectTo, createTestSandbox, deadline, type TestBoot, type TestSandbox } from "../test-sidecar.ts";

const archive = archiveOf([{ name: "workspace/new", content: "new" }]);

describe("a streamed body", () => {
  let sandbox: TestSandbox;
  let boot: TestBoot;
  let session: string;
  let directory: string;
  const servers: Server[] = [];
  beforeAll(async () => {
    sandbox = await createTestSandbox();
    boot = await sandbox.boot();
    session = randomUUID();
    ({ directory } = await boot.client.prepareWorkspace(session, deadline()));
    await writeFile(join(directory, "old"), "old");
  });
  afterAll(() => sandbox?.remove());
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  interface Upload {
    body?: Buffer;
    signedAs?: string;
    trailers?: (trailers: Record<string, string>, nonce: string) => Record<string, string>;
    cut?: boolean;
  }

  /** An upload with anything wrong that a test wants; resolves with status and text, or null when it was cut. */
  async function upload({ body = archive, signedAs = "stream", trailers = (right) => right, cut = false }: Upload) {
    const { sandboxId, bootId } = boot.launch;
    const path = `/snapshot/restore/${session}`;
    const nonce = randomBytes(18).toString("base64url");
    const signed = { sandboxId, bootId, method: "POST", path, issuedAt: Date.now(), nonce, bodyHash: signedAs };
    const request = createRequest({
      socketPath: doorPath(),
      method: "POST",
      path,
      headers: {
        "transfer-encoding": "chunked",
        trailer: `${streamTrailers.bodyHash}, ${streamTrailers.bodyProof}`,
        [signatureHeaders.signature]: signRequest(signed, sandbox.privateKey),
        [signatureHeaders.issuedAt]: String(signed.issuedAt),
        [signatureHeaders.nonce]: nonce,
        [signatureHeaders.bodyHash]: signedAs,
      },
    });
    request.write(body);
    if (cut) {
      request.on("error", () => {});
      await new Promise((resolve) => setImmediate(resolve));
      request.destroy();
      return null;
    }
    const hash = hashBody(body);
    const right = {
      [streamTrailers.bodyHash]: hash,
      [streamTrailers.bodyProof]: signUpload({ sandboxId, bootId, nonce, bodyHash: hash }, sandbox.privateKey),
    };
    request.addTrailers(trailers(right, nonce));
    request.end();
    const [answer] = await once(request, "response");
    answer.setEncoding("utf8");
    let text = "";
    for await (const chunk of answer) text += chunk;
    return { status: answer.statusCode as number, text };
  }

  function doorPath(): string {
    if (boot.launch.door.kind !== "socket") throw new Error("not a socket");
    return boot.launch.door.path;
  }

  const other = generateKeyPairSync("ed25519").privateKey;
  const wrong: [string, Upload][] = [
    ["without a trailer", { trailers: () => ({}) }],
    ["with a hash but no signature", { trailers: ({ [streamTrailers.bodyProof]: _, ...rest }) => rest }],
    ["with a signature but no hash", { trailers: ({ [streamTrailers.bodyHash]: _, ...rest }) => rest }],
    [
      "with another body's hash",
      { trailers: (right) => ({ ...right, [streamTrailers.bodyHash]: hashBody("something else") }) },
    ],
    [
      "signed by somebody else",
      {
        trailers: (right, nonce) => ({
          ...right,
          [streamTrailers.bodyProof]: signUpload(
            { sandboxId: boot.launch.sandboxId, bootId: boot.launch.bootId, nonce, bodyHash: hashBody(archive) },
            other,
          ),
        }),
      },
    ],
    [
      "signed for another request",
      {
        trailers: (right) => ({
          ...right,
          [streamTrailers.bodyProof]: signUpload(
            {
              sandboxId: boot.launch.sandboxId,
              bootId: boot.launch.bootId,
              nonce: randomBytes(18).toString("base64url"),
              bodyHash: hashBody(archive),
            },
            sandbox.privateKey,
          ),
        }),
      },
    ],
  ];
  it.each(wrong)("%s changes nothing", async (_what, input) => {
    const answer = await upload(input);
    expect(answer?.status).toBe(401);
    expect(JSON.parse(answer?.text ?? "").error.message).toMatch(/signature was refused: .*body/);
    expect(await readdir(directory)).toContain("old");
    expect(await readdir(directory)).not.toContain("new");
    expect(await readdir(join(sandbox.workspace, "sessions"))).toEqual([session]);
  });

  it("that is cut changes nothing", async () => {
    await upload({ cut: true });
    // The next one begins only when nothing is left of the one before.
    await expect.poll(() => readdir(join(sandbox.workspace, "sessions")), { timeout: 20_000 }).toEqual([session]);
    expect(await readFile(join(directory, "old"), "utf8")).toBe("old");
  });

  it("cannot be sent where a whole one was signed, nor the other way", async () => {
    expect((await upload({ signedAs: hashBody(archive) }))?.status).toBe(400);
    const request = {
      method: "POST",
      path: `/snapshot/restore/${session}`,
      body: archive,
      signal: deadline(),
    } as const;
    expect((await boot.client.send(request)).status).toBe(400);
    expect(await readdir(directory)).toContain("old");
  });

  it("with the right trailer is taken", async () => {
    await expect.poll(async () => (await upload({}))?.status, { timeout: 20_000 }).toBe(200);
    expect(await readdir(directory)).toEqual(["new"]);
  });

  it("is refused while it is being sent, and whoever sends it learns why", async () => {
    const endless = (async function* () {
      yield* chunksOf(archiveOf([{ name: "../escape", content: "x" }]));
      for (let sent = 0; sent < 2_000; sent += 1) yield gzipSync(randomBytes(65_536), { level: 0 });
    })();
    const archives = createSidecarArchives(boot.client);
    await expect(
      archives.restoreWorkspace({ sessionId: session, body: endless, signal: deadline() }),
    ).rejects.toMatchObject({ kind: "invalid-input", message: expect.stringContaining("..") });
    expect((await boot.client.health(deadline())).gate).toBe("closed");
  });

  it("whose source fails on the server's side is not taken for one that ended", async () => {
    const failing = (async function* () {
      yield archive;
      throw new Error("the store is gone");
    })();
    const archives = createSidecarArchives(boot.client);
    const input = { sessionId: session, body: failing, signal: deadline() };
    await expect(archives.restoreWorkspace(input)).rejects.toMatchObject({ kind: "unavailable" });
    expect(await readdir(directory)).toEqual(["new"]);
  });

  it("may be aborted by whoever sends it", async () => {
    const stop = new AbortController();
    const stuck = (async function* () {
      yield archive.subarray(0, 20);
      stop.abort();
      await once(deadline(), "abort").catch(() => {});
      yield archive;
    })();
    const archives = createSidecarArchives(boot.client);
    const sending = archives.restoreWorkspace({ sessionId: session, body: stuck, signal: stop.signal });
    await expect(sending).rejects.toThrow();
  });

  /** Stands between client and door and does as it likes with what the door answers. */
  async function tampered(change: (bytes: Buffer, socket: Socket) => Buffer | null): Promise<TestBoot["client"]> {
    const server = createServer((socket) => {
      const door = connect({ path: doorPath() });
      door.on("error", () => socket.destroy()).on("close", () => socket.end());
      socket.on("error", () => door.destroy()).on("close", () => door.destroy());
      socket.pipe(door);
      door.on("data", (bytes) => {
        const changed = change(bytes, socket);
        if (changed) socket.write(changed);
        else socket.destroy();
      });
    }).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { sandboxId, bootId, bootSecret } = boot.launch;
    return createSidecarClient({
      door: {
        dispatcher: new Pool(`http://127.0.0.1:${port}`),
        origin: `http://127.0.0.1:${port}`,
        connect: () => connectTo(doorPath()),
      },
      sandboxId,
      bootId,
      bootSecret: Buffer.from(bootSecret, "base64"),
      privateKey: sandbox.privateKey,
    });
  }

  async function take(client: TestBoot["client"]): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const made = await createSidecarArchives(client).createWorkspace({
      sessionId: session,
      signal: deadline(),
      async sink(body) {
        for await (const chunk of body) chunks.push(chunk);
      },
    });
    expect(made.outcome).toBe("made");
    return Buffer.concat(chunks);
  }

  it("that is downloaded is believed when it comes as it was sent", async () => {
    expect((await take(await tampered((bytes) => bytes))).length).toBeGreaterThan(100);
  });

  it("that is downloaded is not believed when a byte of it, or of its trailer, is another", async () => {
    for (const field of [streamTrailers.bodyHash, streamTrailers.bodyProof, streamTrailers.note]) {
      const client = await tampered((bytes) => {
        // Not in the head, which announces the same names.
        const at = bytes.toString("latin1").toLowerCase().lastIndexOf(`\n${field}: `);
        if (at === -1) return bytes;
        const value = at + field.length + 12;
        bytes[value] = bytes[value] === 0x41 ? 0x42 : 0x41;
        return bytes;
      });
      await expect(take(client)).rejects.toMatchObject({ kind: "upstream" });
    }
    const client = await tampered((bytes) => {
      // The magic number of gzip, somewhere after the head.
      const at = bytes.indexOf(Buffer.from([0x1f, 0x8b, 0x08]));
      if (at !== -1) bytes[at + 20] = (bytes[at + 20] ?? 0) ^ 1;
      return bytes;
    });
    await expect(take(client)).rejects.toMatchObject({ kind: "upstream" });
  });

  it("that is downloaded and cut is not believed", async () => {
    const client = await tampered((bytes, socket) => {
      const at = bytes.indexOf(Buffer.from([0x1f, 0x8b, 0x08]));
      if (at === -1) return bytes;
      socket.write(bytes.subarray(0, at + 10));
      return null;
    });
    await expect(take(client)).rejects.toMatchObject({ kind: "unavailable" });
  });

  it("that a sink did not read to its end is not taken for whole", async () => {
    const archives = createSidecarArchives(boot.client);
    const lazy = archives.createWorkspace({ sessionId: session, signal: deadline(), sink: async () => "nothing read" });
    await expect(lazy).rejects.toMatchObject({ kind: "internal" });
  });
});
