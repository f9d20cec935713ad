import { spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { bundleSidecar } from "../../../../scripts/lib/bundle-sidecar.mjs";
import { causes } from "../../../protocol/causes.ts";
import { createSidecarClient } from "../../create-sidecar-client.ts";
import type { SandboxBackend } from "../../sandbox-backend.ts";
import type { SidecarClient } from "../../sidecar-client.ts";
import { createSpec } from "../../test/test-sandbox.ts";
import { readLife } from "./life-record.ts";
import type { LocalIsolation } from "./local-isolations.ts";
import { childrenOf, identifyProcess, isRunning, withEnvironment } from "./process-identity.ts";
import { createSandboxPaths, type PathsOfSandbox } from "./sandbox-paths.ts";
import { createTestBackend, createTestHome } from "./test/test-backend.ts";

// The real sidecar in a real sandbox, with an agent that runs what it is told to.

const root = resolve(import.meta.dirname, "../../../..");
const standIn = join(root, "server/lifecycle/test/stand-in-agent.mjs");
const patience = { timeout: 30_000, interval: 10 };
const signal = () => AbortSignal.timeout(60_000);
const fillDatabase = `
  const { DatabaseSync } = require("node:sqlite");
  const database = new DatabaseSync(process.env.XDG_DATA_HOME + "/opencode/work.db");
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE rows (n INTEGER PRIMARY KEY)");
  for (;;) database.exec("INSERT INTO rows DEFAULT VALUES");
`;
const forks = "while :; do /bin/true; done";

describe.each(["sandboxed", "host"] as const)("a sandbox that is %s", (isolation) => {
  let home: string;
  let removeHome: () => Promise<void>;
  let backend: SandboxBackend;
  let sandboxId: string;
  let paths: PathsOfSandbox;
  let sidecar: SidecarClient;
  let directory: string;
  let sessionId: string;

  beforeAll(async () => {
    ({ home, remove: removeHome } = await createTestHome());
    const program = join(home, "sidecar.mjs");
    await writeFile(program, (await bundleSidecar({ root })).code);
    const version = createHash("sha256").update(readFileSync(standIn)).digest("hex").slice(0, 12);
    backend = createTestBackend(home, {
      programs: { sidecar: program, opencode: { path: standIn, version } },
      // Longer than any test: nothing here may need it.
      graceMilliseconds: 3_600_000,
    });
  });
  afterAll(async () => {
    await backend?.close();
    await removeHome?.();
  });
  beforeEach(async () => {
    sandboxId = randomUUID();
    ({ sidecar, paths } = await start(isolation));
    sessionId = randomUUID();
    await sidecar.prepareWorkspace(sessionId, signal());
    directory = join(paths.workspace, "sessions", sessionId);
  });
  afterEach(() => backend.terminate(sandboxId, null, AbortSignal.abort()));

  async function start(name: LocalIsolation) {
    const keys = generateKeyPairSync("ed25519");
    const spec = createSpec(name, sandboxId);
    spec.launch.publicKey = keys.publicKey.export({ format: "der", type: "spki" }).toString("base64");
    const door = await backend.connect(sandboxId, await backend.provision(spec, signal()));
    const { bootId, bootSecret } = spec.launch;
    const started = createSidecarClient({
      door,
      sandboxId,
      bootId,
      bootSecret: Buffer.from(bootSecret, "base64"),
      privateKey: keys.privateKey,
    });
    await started.markRestored(signal());
    await started.waitForAgent(signal());
    return { sidecar: started, paths: await createSandboxPaths(home).of(sandboxId) };
  }

  /** By the agent, in the session's workspace; as a file, so that no command line has all of it. */
  async function run(script: string): Promise<string> {
    const inside = isolation === "sandboxed" ? `/workspace/sessions/${sessionId}` : directory;
    const body = `cd ${inside} && { ${script}\n}`;
    const answer = await sidecar.send({ method: "POST", path: "/agent/run", body, signal: signal() });
    const text = await new Response(answer.body as never).text();
    return (JSON.parse(text) as { output: string }).output.trim();
  }
  const background = (script: string) => run(`setsid bash -c '${script}' > /dev/null 2>&1 < /dev/null & echo $!`);
  const counting = (name: string) => `while :; do echo x >> ${name}; done`;
  const read = (name: string) => readFile(join(directory, name), "utf8").catch(() => "");
  async function grows(name: string): Promise<void> {
    const before = (await read(name)).length;
    await vi.waitUntil(async () => (await read(name)).length > before, patience);
  }
  const node = isolation === "sandboxed" ? "/opt/dormouse/bin/node" : process.execPath;
  const marked = () => withEnvironment([`DORMOUSE_SANDBOX=${sandboxId}`]);

  it("stands still 40 times out of 40 while its programs fork all the time", async () => {
    for (let number = 0; number < 3; number += 1) {
      await background(`for n in 1 2; do sh -c "${forks}" & bash -c "${forks}" & done; wait`);
    }
    await background(counting("count"));
    await writeFile(join(directory, "chain"), `#!/bin/bash\n"$0" & exit\n`, { mode: 0o755 });
    // Never the same process for long: only a namespace holds it.
    if (isolation === "sandboxed") await background("exec ./chain");
    await grows("count");
    for (let round = 0; round < 40; round += 1) {
      const { freezeId, frozen } = await sidecar.quiesce(signal());
      expect(frozen).toBeGreaterThanOrEqual(14);
      const before = await read("count");
      expect(marked().filter(({ pid }) => !/[TtD]/.test(stateOf(pid)))).toEqual([]);
      expect(await sidecar.freezeHolds(freezeId, signal())).toEqual({ holds: true });
      expect(await read("count")).toBe(before);
      expect(await sidecar.resume(signal())).toEqual({ resumed: true });
    }
    await grows("count");
  });

  it("refuses what is asked of the agent while it is frozen, and answers all else", async () => {
    const life = (await sidecar.health(signal())).agent;
    const { freezeId } = await sidecar.quiesce(signal());
    expect(await sidecar.quiesce(signal())).toMatchObject({ freezeId });
    const refusal = { fault: "agent-frozen", ...causes["agent-frozen"] };
    await expect(sidecar.json({ method: "GET", path: "/agent/session", signal: signal() })).rejects.toMatchObject(
      refusal,
    );
    await expect(sidecar.restartAgent({}, signal())).rejects.toMatchObject(refusal);
    // Git is started for it, after the freeze.
    await sidecar.prepareWorkspace(randomUUID(), signal());
    expect((await sidecar.health(signal())).agent).toEqual(life);
    expect(await sidecar.freezeHolds(freezeId, signal())).toEqual({ holds: true });
    await sidecar.resume(signal());
    expect(await sidecar.resume(signal())).toEqual({ resumed: false });
    expect(await sidecar.freezeHolds(freezeId, signal())).toEqual({ holds: false });
    expect(await run("echo here")).toBe("here");
  });

  it("lets the programs of the sidecar itself go on", async () => {
    for (let round = 0; round < 5; round += 1) {
      // Each runs git three times, and it is frozen at a different moment of it.
      const preparing = Array.from({ length: 4 }, () => sidecar.prepareWorkspace(randomUUID(), signal()));
      const { freezeId } = await sidecar.quiesce(signal());
      await Promise.all(preparing);
      expect(await sidecar.freezeHolds(freezeId, signal())).toEqual({ holds: true });
      await sidecar.resume(signal());
    }
  });

  it("is archived as it stands while it is frozen, in the middle of writing", async () => {
    await background(`n=0; while :; do n=$((n + 1)); echo $n > file-$((n % 50)); echo $n >> outputs/all; done`);
    await writeFile(join(directory, "fill.cjs"), fillDatabase);
    await background(`exec ${node} fill.cjs`);
    const database = (folder: string) => rowsIn(join(folder, "opencode/work.db"));
    const data = join(paths.workspace, "opencode-data");
    await grows("outputs/all");
    await vi.waitUntil(() => database(data) > 0, patience);
    const { freezeId } = await sidecar.quiesce(signal());
    const names = ["outputs/all", ...readdirSync(directory).filter((name) => name.startsWith("file-"))];
    const standing = await Promise.all(names.map(read));
    const rows = database(data);
    const archive = await download(`/snapshot/create?session=${sessionId}`);
    const history = await download("/opencode-history/create");
    expect(await sidecar.freezeHolds(freezeId, signal())).toEqual({ holds: true });
    await sidecar.resume(signal());
    await grows("outputs/all");
    await vi.waitUntil(() => database(data) > rows, patience);
    const unpacked = join(home, sessionId);
    await mkdir(unpacked);
    const unpack = (bytes: Buffer, ...parameters: string[]) =>
      finished(spawn("tar", ["xz", "-C", unpacked, ...parameters]), bytes);
    await unpack(archive, "--strip-components=1");
    await unpack(history);
    expect(await Promise.all(names.map((name) => readFile(join(unpacked, name), "utf8").catch(() => null)))).toEqual(
      standing,
    );
    expect(database(join(unpacked, ".opencode-data"))).toBe(rows);
  });

  async function download(path: string): Promise<Buffer> {
    const { body } = await sidecar.download({ method: "POST", path, signal: signal() });
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  it("no longer holds once somebody else lets a program go on", async () => {
    await background(counting("count"));
    await grows("count");
    const { freezeId } = await sidecar.quiesce(signal());
    const before = await read("count");
    for (const { pid } of marked()) process.kill(pid, "SIGCONT");
    await vi.waitUntil(async () => (await read("count")) !== before, patience);
    expect(await sidecar.freezeHolds(freezeId, signal())).toEqual({ holds: false });
  });

  it("stops nothing outside", async () => {
    const outside = spawn("bash", ["-c", counting("outside")], { cwd: home, detached: true, stdio: "ignore" });
    const size = async () => (await readFile(join(home, "outside"), "utf8").catch(() => "")).length;
    try {
      await sidecar.quiesce(signal());
      const before = await size();
      await vi.waitUntil(async () => (await size()) > before, patience);
      expect(isRunning(outside.pid ?? 0)).toBe(true);
    } finally {
      process.kill(-(outside.pid ?? 0), "SIGKILL");
    }
  });

  it("is ended without going on when it is frozen", async () => {
    const trapped = `trap "echo term >> heard" TERM; trap "echo on >> heard" CONT; ${counting("count")}`;
    await background(trapped);
    // It left the mark behind.
    await background(`env -i bash -c "${counting("bare")}"; true`);
    await grows("count");
    await grows("bare");
    await sidecar.quiesce(signal());
    const standing = await Promise.all(["count", "bare"].map(read));
    await backend.terminate(sandboxId, null, signal());
    expect(workingIn(directory)).toEqual([]);
    expect(await read("heard")).toBe("");
    expect((await Promise.all(["count", "bare"].map(read))).map(sizeOf)).toEqual(standing.map(sizeOf));
  });

  it("is ended at once when its sidecar is stopped too", async () => {
    const life = await readLife(paths.directory);
    const sidecars = life?.first ? childrenOf(life.first.pid) : [life?.leader.pid ?? 0];
    for (const pid of sidecars) process.kill(pid, "SIGSTOP");
    await backend.terminate(sandboxId, null, signal());
    expect(marked()).toEqual([]);
  });

  it("says what goes on in it besides the agent", async () => {
    const first = await sidecar.activity(signal());
    expect(first).toMatchObject({ since: null, processes: [], more: 0, ports: [] });
    const busy = Number(await background(`exec bash -c "while :; do :; done" busy`));
    await background(`while :; do dd if=/dev/zero of=written bs=64k count=16 status=none conv=fsync; done`);
    const idle = await background("exec sleep 1000");
    const listen = `require("net").createServer().listen(0, function () { console.log(this.address().port) })`;
    const port = Number(await run(`${node} -e '${listen}' > port 2>&1 & until grep -qs . port; do :; done; cat port`));
    await vi.waitUntil(async () => (await read("written")) !== "", patience);
    const shows = (wanted: (seen: typeof first) => boolean) =>
      vi.waitUntil(async () => {
        const now = await sidecar.activity(signal());
        return wanted(now) ? now : null;
      }, patience);
    const seen = await shows(
      ({ processes }) =>
        processes.some(({ command, cpuMilliseconds }) => command.includes("busy") && cpuMilliseconds > 0) &&
        processes.some(({ command, writtenBytes }) => command.includes("of=written") && writtenBytes > 0),
    );
    expect(Date.parse(seen.since ?? "")).toBeGreaterThanOrEqual(Date.parse(first.lastFileChangeAt ?? ""));
    expect(seen.ports).toEqual([port]);
    expect(seen.processes.find(({ command }) => command === "sleep 1000")).toMatchObject({ writtenBytes: 0 });
    expect(seen.processes.map(({ command }) => command).join()).not.toMatch(/stand-in-agent|sidecar\.mjs/);
    const sorted = seen.processes.map(({ cpuMilliseconds }) => cpuMilliseconds);
    expect(sorted).toEqual(sorted.toSorted((one, other) => other - one));
    // The numbers of a namespace are its own.
    expect(seen.processes.some(({ pid }) => pid === Number(idle)) && busy > 0).toBe(true);
    expect(Date.parse(seen.lastFileChangeAt ?? "")).toBeGreaterThan(Date.parse(first.lastFileChangeAt ?? ""));
  });
});

function stateOf(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.charAt(text.lastIndexOf(")") + 2);
  } catch {
    return "T";
  }
}

/** Processes with this working directory, in whatever namespace. */
function workingIn(directory: string): string[] {
  const { ino } = statSync(directory);
  return readdirSync("/proc").filter((name) => {
    try {
      return statSync(`/proc/${name}/cwd`).ino === ino && identifyProcess(Number(name)) !== null;
    } catch {
      // None, or somebody else's.
      return false;
    }
  });
}

/** 0 while there are none. */
function rowsIn(path: string): number {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    return Number(database.prepare("SELECT count(*) AS count FROM rows").get()?.count);
  } catch {
    return 0;
  }
}

const sizeOf = (text: string) => text.length;

async function finished(child: ReturnType<typeof spawn>, input: Buffer): Promise<void> {
  const code = new Promise((settle, reject) => child.on("exit", settle).on("error", reject));
  child.stdin?.end(input);
  expect(await code).toBe(0);
}
