import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

// Stands in for the server: says what happens to it, and does what its source tells it to.
const server = `
import { name, fails, staysAtReload } from "./server/source.mjs";
const say = (what) => console.log(what + " " + name);
say("start");
if (fails) process.exit(1);
let reloading = false;
process.on("SIGTERM", () => {
  if (reloading) return;
  say("end");
  process.exit(0);
});
process.on("message", () => {
  reloading = true;
  say("reload");
  if (!staysAtReload) process.exit(0);
  process.on("SIGTERM", () => process.exit(0));
});
setInterval(() => {}, 1000);
process.send({ port: Number(process.env.DORMOUSE_PORT ?? 4321) });
say("port " + (process.env.DORMOUSE_PORT ?? "none"));
`;

const reloading = JSON.stringify(fileURLToPath(new URL("./run-reloading.mjs", import.meta.url)));
const launcher = `
import { runReloading } from ${reloading};
process.exitCode = await runReloading({
  node: process.execPath,
  root: process.cwd(),
  folders: [process.cwd() + "/server"],
  server: ["server.mjs"],
  check: ["--input-type=module", "--eval", 'await import("./server/source.mjs")'],
});
`;

let root: string;
let child: ChildProcess;
let output: string;
let heard: EventEmitter;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "dormouse-reload-"));
  await mkdir(join(root, "server"));
  await writeFile(join(root, "server.mjs"), server);
});
afterEach(async () => {
  child.kill("SIGKILL");
  await rm(root, { recursive: true, force: true, maxRetries: 5 });
});

const change = (name: string, more: { fails?: boolean; staysAtReload?: boolean } = {}) =>
  write(
    `export const name = "${name}", fails = ${more.fails === true}, staysAtReload = ${more.staysAtReload === true};`,
  );

/** As editors do it: another file takes the place of the old one. */
async function write(text: string): Promise<void> {
  await writeFile(join(root, "source.new"), text);
  await rename(join(root, "source.new"), join(root, "server", "source.mjs"));
}

function launch(): void {
  output = "";
  const { DORMOUSE_PORT: _, npm_lifecycle_event: __, ...env } = process.env;
  child = spawn(process.execPath, ["--input-type=module", "--eval", launcher], { cwd: root, env });
  heard = new EventEmitter();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      output += chunk;
      heard.emit("news");
    });
  }
  child.on("close", () => heard.emit("news"));
}

async function says(text: string): Promise<void> {
  while (!output.includes(text)) {
    if (child.exitCode !== null) throw new Error(`It ended before it said "${text}":\n${output}`);
    await once(heard, "news");
  }
}

async function stop(): Promise<number | null> {
  child.kill("SIGTERM");
  if (child.exitCode === null) await once(child, "close");
  return child.exitCode;
}

const lines = () => output.split("\n").filter((line) => /^(start|reload|end|port)/.test(line));

describe("a server that is replaced when its sources change", () => {
  it("is told to reload, and the next one listens at the same port", async () => {
    await change("first");
    launch();
    await says("port none first");
    await change("second");
    await says("port 4321 second");
    expect(await stop()).toBe(0);
    const before = ["start first", "port none first", "reload first", "start second", "port 4321 second"];
    expect(lines().slice(0, 5)).toEqual(before);
    expect(lines().at(-1)).toBe("end second");
  });

  it("runs on while its sources do not load, and is replaced when they do", async () => {
    await change("first");
    launch();
    await says("port none first");
    await write("export const name = ;");
    await says("does not load");
    expect(output).toContain("SyntaxError");
    await change("second");
    await says("port 4321 second");
    expect(lines().filter((line) => line.startsWith("start"))).toEqual(["start first", "start second"]);
  });

  it("sees sources in folders that are made later, and not its tests", async () => {
    await change("first");
    launch();
    await says("port none first");
    await writeFile(join(root, "server", "source.test.ts"), "");
    await mkdir(join(root, "server", "later", "still"), { recursive: true });
    await writeFile(join(root, "server", "later", "still", "another.ts"), "");
    await says("reload first");
    await says("port 4321 first");
    await change("second");
    await says("port 4321 second");
  });

  it("is not started again and again when it fails", async () => {
    await change("first");
    launch();
    await says("port none first");
    await change("second", { fails: true });
    await says("The server ended with 1");
    await change("third");
    await says("port 4321 third");
    expect(lines().filter((line) => line === "start second")).toHaveLength(1);
    expect(await stop()).toBe(0);
  });

  it("ends the launcher when already the first one fails", async () => {
    await change("first", { fails: true });
    launch();
    await once(child, "close");
    expect(child.exitCode).toBe(1);
    expect(lines()).toEqual(["start first"]);
  });

  it("leaves nothing behind when the end comes between two servers", async () => {
    await change("first", { staysAtReload: true });
    launch();
    await says("port none first");
    await change("second");
    await says("reload first");
    expect(await stop()).toBe(0);
    expect(lines().slice(2)).toEqual(["reload first", "start second", "port 4321 second", "end second"]);
  });
});
