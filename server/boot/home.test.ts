import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HomeOptions, openHome } from "./home.ts";

let path: string;
let program: string;
beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), "dormouse-home-"));
  path = join(directory, "home");
  // Another process that holds the home until it is told to go.
  program = join(directory, "holder.mjs");
  await writeFile(
    program,
    `import { openHome } from ${JSON.stringify(join(import.meta.dirname, "home.ts"))};
const home = await openHome({ path: ${JSON.stringify(path)}, signal: new AbortController().signal });
await home.announce("http://127.0.0.1:1");
process.send("held");
process.on("message", async (word) => {
  await home.announceStop();
  process.send("stopping");
  if (word === "leave") setTimeout(() => home.release().then(() => process.exit()), 300);
});`,
  );
});
afterEach(() => rm(join(path, ".."), { recursive: true, force: true }));

const open = (options: Partial<HomeOptions> = {}) =>
  openHome({ path, signal: AbortSignal.timeout(20_000), ...options });

async function startHolder() {
  const child = fork(program);
  const [word] = await once(child, "message");
  expect(word).toBe("held");
  return child;
}

describe("the home", () => {
  it("is made closed to others, and says who has it until it is released", async () => {
    const home = await open();
    expect((await stat(path)).mode & 0o077).toBe(process.getuid?.() === 0 ? 0o011 : 0);
    await home.announce("http://127.0.0.1:3000");
    const holder = JSON.parse(await readFile(join(path, "server.json"), "utf8")) as unknown;
    expect(holder).toMatchObject({ pid: process.pid, url: "http://127.0.0.1:3000", stopping: false });
    await home.release();
    expect(await readdir(path)).toEqual(["lock.sqlite"]);
  });

  it("belongs to one process at a time, which a second one is told", async () => {
    const holder = await startHolder();
    try {
      await expect(open()).rejects.toThrow(`pid ${holder.pid} at http://127.0.0.1:1`);
    } finally {
      holder.kill("SIGKILL");
      await once(holder, "exit");
    }
  });

  it("is free at once after a kill -9, whatever was left behind", async () => {
    const holder = await startHolder();
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect(await readdir(path)).toContain("server.json");
    const home = await open();
    await home.release();
  });

  it("is waited for while its holder is about to go", async () => {
    const holder = await startHolder();
    holder.send("leave");
    const [word] = await once(holder, "message");
    expect(word).toBe("stopping");
    const home = await open();
    await home.release();
  });

  it("is not waited for longer than it is worth", async () => {
    const holder = await startHolder();
    holder.send("stay");
    await once(holder, "message");
    try {
      await expect(open({ waitMilliseconds: 200 })).rejects.toThrow(
        "Dormouse is already running with this data directory",
      );
    } finally {
      holder.kill("SIGKILL");
      await once(holder, "exit");
    }
  });

  it("needs room on its disk", async () => {
    await expect(open({ minimumFreeBytes: 2 ** 60 })).rejects.toThrow(/is full: .* MB free/);
  });
});
