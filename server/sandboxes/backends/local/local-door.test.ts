import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectToDoor, openDoor } from "./local-door.ts";

/** Connections are made, and never taken up: its only thread sleeps. */
const deaf = `
  require("node:net").createServer().listen(process.argv[1], () => {
    process.stdout.write("listening", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "door-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function openDeaf(name: string): Promise<{ path: string; sandbox: ChildProcess }> {
  const path = join(directory, name);
  const sandbox = spawn(process.execPath, ["-e", deaf, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(sandbox.stdout, "data");
  return { path, sandbox };
}

describe("a door whose sandbox dies", () => {
  it("fails a connection that nobody has taken up yet, and nothing else", async () => {
    const { path, sandbox } = await openDeaf("idle");
    const socket = await connectToDoor(path);
    const closed = new Promise((resolve) => socket.on("close", resolve));
    sandbox.kill("SIGKILL");
    await closed;
    expect(socket.errored).toMatchObject({ code: "ECONNRESET" });
  });

  it("fails the call that waits, and the next one", async () => {
    const { path, sandbox } = await openDeaf("busy");
    const door = openDoor(path);
    const call = () => door.dispatcher.request({ origin: door.origin, path: "/health", method: "GET" });
    const first = expect(call()).rejects.toThrow();
    setTimeout(() => sandbox.kill("SIGKILL"), 100);
    await first;
    await expect(call()).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await door.close();
  });
});
