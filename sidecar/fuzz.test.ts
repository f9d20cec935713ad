import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { lstat, mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { archiveRoots } from "../server/protocol/archive/archive-answers.ts";
import {
  hashBody,
  signatureHeaders,
  signRequest,
  signUpload,
  streamTrailers,
} from "../server/protocol/request-signature.ts";
import { archiveOf, chunksOf } from "./archive/test-archives.ts";
import { hostileArchive } from "./archive/test-hostile.ts";
import { createRandom, type Random } from "./test-random.ts";
import { createTestSandbox, deadline, type TestBoot, type TestSandbox } from "./test-sidecar.ts";

/** A short form in every test run; `npm run test:fuzz` does the long one. A failure names its seed. */
const count = Number(process.env.COUNT ?? 80);
const seeds = (process.env.SEEDS ?? "1").split(",").map(Number);
const timeout = 30_000 + count * 200;
const archiveTimeout = 60_000 + count * 600;

describe.each(seeds)("with seed %i", (seed) => {
  let sandbox: TestSandbox;
  let boot: TestBoot;
  let session: string;
  // Nothing instead of the agent: a history that is restored opens the gate.
  let programs: TestSandbox["launch"]["programs"];
  let around: string[];
  const canary = () => join(dirname(sandbox.workspace), "canary");
  beforeAll(async () => {
    sandbox = await createTestSandbox();
    programs = { ...sandbox.launch.programs, opencode: "/bin/false" };
    boot = await sandbox.boot({ programs });
    session = randomUUID();
    await boot.client.prepareWorkspace(session, deadline());
    await mkdir(canary());
    await writeFile(join(canary(), "secret"), "secret");
    around = await look();
  });
  afterAll(() => sandbox?.remove());

  /** All that a restore may not touch. */
  async function look(): Promise<string[]> {
    const seen: string[] = [];
    for (const folder of [
      dirname(sandbox.workspace),
      sandbox.workspace,
      canary(),
      join(sandbox.workspace, "sessions"),
    ]) {
      seen.push(...(await readdir(folder)).map((name) => join(folder, name)));
    }
    const { size, mtimeMs, mode, nlink } = await lstat(join(canary(), "secret"));
    const secret = await readFile(join(canary(), "secret"), "utf8");
    return [...seen.sort(), JSON.stringify({ size, mtimeMs, mode, nlink, secret })];
  }

  /** Names are bytes here: those that are no UTF-8 are restored as well. */
  async function requireInside(directory: string): Promise<void> {
    const root = await realpath(directory);
    const folders = [Buffer.from(directory)];
    for (let folder = folders.pop(); folder; folder = folders.pop()) {
      for (const name of await readdir(folder, { encoding: "buffer" })) {
        const path = Buffer.concat([folder, Buffer.from("/"), name]);
        const status = await lstat(path);
        if (status.isDirectory()) folders.push(path);
        if (!status.isSymbolicLink()) continue;
        const target = await realpath(path).catch(() => root);
        expect(`${target}/`.startsWith(`${root}/`), `${path} leads to ${target}`).toBe(true);
      }
    }
  }

  const aims = {
    workspace: { path: () => `/snapshot/restore/${session}`, directory: () => join("sessions", session) },
    home: { path: () => "/home/restore", directory: () => "home" },
    history: { path: () => "/opencode-history/restore", directory: () => "opencode-data" },
  };

  it.each(["workspace", "home", "history"] as const)(
    `lets none of ${count} hostile archives for the %s out of its folder`,
    { timeout: archiveTimeout },
    async (kind) => {
      const { path, directory } = aims[kind];
      const outcomes: Record<string, number> = {};
      for (let round = 0; round < count; round += 1) {
        const random = createRandom(seed * 1_000_003 + round);
        const archive = hostileArchive(random, { root: archiveRoots[kind], target: join(canary(), "secret") });
        const what = `seed ${seed}, round ${round}`;
        const body = chunksOf(archive, 1 + random.below(2_000));
        const outcome = await boot.client.upload({ method: "POST", path: path(), body, signal: deadline() }).then(
          () => "restored",
          (error) => {
            expect(error, what).toMatchObject({ kind: expect.stringMatching(/^(invalid-input|too-large)$/) });
            expect(error.message.length, what).toBeGreaterThan(20);
            return error.kind as string;
          },
        );
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        expect(boot.child.exitCode, what).toBeNull();
        expect(await look(), what).toEqual(around);
        if (outcome !== "restored") continue;
        await requireInside(join(sandbox.workspace, directory()));
        // A history is restored once in a boot.
        if (kind === "history") await nextBoot();
      }
      expect((await boot.client.health(deadline())).gate).toBe("closed");
      // Neither only nonsense nor only harmless ones.
      expect(Object.keys(outcomes).sort()).toEqual(expect.arrayContaining(["invalid-input", "restored"]));
    },
  );

  async function nextBoot(): Promise<void> {
    const exited = once(boot.child, "exit");
    boot.child.kill("SIGKILL");
    await exited;
    await boot.connection.destroy();
    boot = await sandbox.boot({ programs });
  }

  it(`takes none of ${count} mutated requests for a signed one`, { timeout }, async () => {
    let refused = 0;
    for (let round = 0; round < count; round += 1) {
      const random = createRandom(seed * 7_000_003 + round);
      const what = `seed ${seed}, round ${round}`;
      const original = makeRequest(random);
      const mutated = mutate(random, original);
      const answer = await exchange(mutated);
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
      if (mutated.mustBeRefused) expect(status, `${what}: ${mutated.how}\n${answer}`).toBeGreaterThanOrEqual(400);
      if (status >= 400) {
        expect(status, `${what}: ${mutated.how}\n${answer}`).toBeLessThan(500);
        expect(answer, what).toMatch(/"error":\{"kind":"[a-z-]+","message":".{10,}"/);
        refused += 1;
      } else expect(status, `${what}: ${mutated.how}\n${answer}`).toBe(200);
    }
    expect(refused).toBeGreaterThan(count / 2);
    expect(boot.child.exitCode).toBeNull();
    expect((await boot.client.health(deadline())).gate).toBe("closed");
    expect(boot.output()).not.toMatch(/uncaught|TypeError|RangeError/);
  });

  /** All that is answered until the connection is closed. */
  async function exchange({ bytes, how }: Mutated): Promise<string> {
    if (boot.launch.door.kind !== "socket") throw new Error("not a socket");
    const socket = connect({ path: boot.launch.door.path });
    socket.setTimeout(20_000, () => socket.destroy(new Error("no answer")));
    if (how === "cut") socket.end(bytes);
    else socket.write(bytes);
    // The door may wait for more than there is.
    const enough = setTimeout(() => socket.end(), 1_500);
    let answer = "";
    socket.setEncoding("latin1");
    try {
      for await (const chunk of socket) answer += chunk;
    } catch (error) {
      // Whoever was refused may still have had something to send.
      if (answer === "") throw error;
    } finally {
      clearTimeout(enough);
    }
    return answer;
  }

  function makeRequest(random: Random): Parts {
    const { sandboxId, bootId } = boot.launch;
    const nonce = random.bytes(18).toString("base64url");
    const streamed = random.chance(0.5);
    const kind = random.pick(["workspace", "home"] as const);
    const body = streamed ? archiveOf([{ name: `${kind}/a`, content: "a" }]) : Buffer.from("content");
    const method = streamed ? "POST" : "PUT";
    const path = streamed ? aims[kind].path() : `/files/write?path=sessions/${session}/a`;
    const bodyHash = streamed ? "stream" : hashBody(body);
    const signed = { sandboxId, bootId, method, path, issuedAt: Date.now(), nonce, bodyHash };
    const hash = hashBody(body);
    return {
      method,
      path,
      headers: [
        [signatureHeaders.signature, signRequest(signed, sandbox.privateKey)],
        [signatureHeaders.issuedAt, String(signed.issuedAt)],
        [signatureHeaders.nonce, nonce],
        [signatureHeaders.bodyHash, bodyHash],
      ],
      body,
      trailers: streamed
        ? [
            [streamTrailers.bodyHash, hash],
            [streamTrailers.bodyProof, signUpload({ sandboxId, bootId, nonce, bodyHash: hash }, sandbox.privateKey)],
          ]
        : [],
    };
  }
});

interface Parts {
  method: string;
  path: string;
  headers: [string, string][];
  body: Buffer;
  trailers: [string, string][];
}

interface Mutated {
  bytes: Buffer;
  how: string;
  mustBeRefused: boolean;
}

function mutate(random: Random, original: Parts): Mutated {
  const pairs = (list: [string, string][]) => list.map(([name, value]): [string, string] => [name, value]);
  const made: Parts = { ...original, headers: pairs(original.headers), trailers: pairs(original.trailers) };
  const how = random.pick(["nothing", "method", "path", "header", "drop", "double", "body", "trailer", "bytes", "cut"]);
  let mustBeRefused = true;
  if (how === "nothing") mustBeRefused = false;
  if (how === "method") made.method = random.pick(["GET", "DELETE", "PATCH", "OPTIONS", "X"]);
  if (how === "path") made.path += random.pick(["?", "&x", "/", "%00", "/../..", "#"]);
  if (how === "header") {
    const header = random.pick(made.headers);
    header[1] = random.pick([
      "",
      "0",
      "x".repeat(500),
      `${header[1]}A`,
      header[1].slice(3),
      header[1].split("").reverse().join(""),
    ]);
    // A number that reads the same both ways, or a word: then nothing was changed.
    mustBeRefused = !original.headers.some(([name, value]) => name === header[0] && value === header[1]);
  }
  if (how === "drop") made.headers.splice(random.below(made.headers.length), 1);
  if (how === "double") made.headers.push([random.pick(made.headers)[0], "other"]);
  if (how === "body") made.body = Buffer.concat([made.body, random.bytes(1 + random.below(40))]);
  if (how === "trailer") {
    const trailer = random.pick(made.trailers.length > 0 ? made.trailers : made.headers);
    trailer[1] = random.pick(["", "x", `${trailer[1]}A`, trailer[1].slice(0, -5)]);
  }
  let bytes = serialize(made);
  if (how === "bytes" || how === "cut") mustBeRefused = false;
  if (how === "bytes")
    for (let left = 1 + random.below(5); left > 0; left -= 1) bytes[random.below(bytes.length)] = random.below(256);
  if (how === "cut") {
    bytes = bytes.subarray(0, 1 + random.below(bytes.length - 2));
    mustBeRefused = true;
  }
  return { bytes, how, mustBeRefused };
}

function serialize({ method, path, headers, body, trailers }: Parts): Buffer {
  const chunked = trailers.length > 0;
  const lines = (list: [string, string][]) => list.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const framing = chunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`;
  const head = `${method} ${path} HTTP/1.1\r\nhost: sidecar\r\nconnection: close\r\n${framing}\r\n${lines(headers)}\r\n`;
  if (!chunked) return Buffer.concat([Buffer.from(head), body]);
  return Buffer.concat([
    Buffer.from(`${head}${body.length.toString(16)}\r\n`),
    body,
    Buffer.from(`\r\n0\r\n${lines(trailers)}\r\n`),
  ]);
}
