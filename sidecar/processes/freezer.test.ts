import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { agentFrozenCode, freezeMilliseconds } from "../../server/protocol/sidecar.ts";
import { createAgentProcesses } from "./agent-processes.ts";
import { createFreezer } from "./freezer.ts";
import { readProcess } from "./process-table.ts";

const patience = { timeout: 20_000, interval: 10 };

/** Among the processes of the machine, as without isolation; what is so in a namespace is tried with the local backend. */
describe("a freezer", () => {
  let sandboxId: string;
  let directory: string;
  let started: ChildProcess[];
  let reports: string[];

  beforeEach(async () => {
    sandboxId = randomUUID();
    directory = await mkdtemp(join(tmpdir(), "dm-freeze-"));
    started = [];
    reports = [];
  });
  afterEach(async () => {
    for (const { pid = 0, exitCode, signalCode } of started) {
      if (exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
    }
    await rm(directory, { recursive: true, force: true });
  });

  function start(script: string, environment: Record<string, string> = { DORMOUSE_SANDBOX: sandboxId }): ChildProcess {
    const env = { PATH: "/usr/bin:/bin", ...environment } as unknown as NodeJS.ProcessEnv;
    const child = spawn("bash", ["-c", script], { cwd: directory, env, stdio: "ignore", detached: true });
    started.push(child);
    return child;
  }

  const findProcesses = () =>
    createAgentProcesses({ mark: `DORMOUSE_SANDBOX=${sandboxId}`, ownPidNamespace: false, agentPid: () => null });
  const create = (processes = findProcesses()) =>
    createFreezer({ processes, report: (message) => reports.push(message) });

  const stateOf = (pid = 0) => readProcess(pid)?.state;
  const read = (name: string) => readFile(join(directory, name), "utf8").catch(() => "");
  const grows = async (name: string) => {
    const before = (await read(name)).length;
    await vi.waitUntil(async () => (await read(name)).length > before, patience);
  };
  const counting = (name: string) => `while :; do echo x >> ${name}; done`;

  it("stops what is marked, and lets it go on", async () => {
    const program = start(counting("count"));
    await grows("count");
    const freezer = create();
    const { freezeId, frozen } = await freezer.freeze();
    expect(frozen).toBe(1);
    expect(stateOf(program.pid)).toBe("T");
    const before = await read("count");
    expect(await freezer.freeze()).toEqual({ freezeId, frozen });
    expect(await freezer.holds(freezeId)).toBe(true);
    expect(await freezer.holds(randomUUID())).toBe(false);
    expect(() => freezer.requireAwake()).toThrow(
      expect.objectContaining({ kind: "unavailable", code: agentFrozenCode }),
    );
    expect(await read("count")).toBe(before);
    expect(await freezer.thaw()).toBe(true);
    expect(await freezer.thaw()).toBe(false);
    freezer.requireAwake();
    expect(await freezer.holds(freezeId)).toBe(false);
    await grows("count");
    expect((await freezer.freeze()).freezeId).not.toBe(freezeId);
    await freezer.thaw();
  });

  it("stops programs that fork all the time, those that left the mark behind too, and nothing else", async () => {
    start(counting("outside"), {});
    const forks = `while :; do /bin/true; done`;
    start(
      `for n in 1 2 3; do sh -c '${forks}' & bash -c '${forks}' & done; env -i bash -c '${counting("bare")}' & wait`,
    );
    await grows("bare");
    const freezer = create();
    for (let round = 0; round < 10; round += 1) {
      const { freezeId, frozen } = await freezer.freeze();
      expect(frozen).toBeGreaterThanOrEqual(8);
      const before = await read("bare");
      if (round % 5 === 0) await grows("outside");
      expect(await freezer.holds(freezeId)).toBe(true);
      expect(await read("bare")).toBe(before);
      await freezer.thaw();
    }
    await grows("bare");
  });

  it("leaves stopped what was stopped before", async () => {
    const program = start(counting("count"));
    await grows("count");
    program.kill("SIGSTOP");
    await vi.waitUntil(() => stateOf(program.pid) === "T", patience);
    const other = start(counting("other"));
    await grows("other");
    const freezer = create();
    expect((await freezer.freeze()).frozen).toBe(2);
    await freezer.thaw();
    await grows("other");
    expect([stateOf(program.pid), stateOf(other.pid)]).toEqual(["T", expect.not.stringMatching("T")]);
  });

  it("no longer holds once somebody else lets one go on, and freezes anew then", async () => {
    const program = start(`trap 'echo on >> on' CONT; while :; do read -t 0.01 < /dev/zero; done`);
    start(counting("count"));
    await grows("count");
    const freezer = create();
    const { freezeId } = await freezer.freeze();
    program.kill("SIGCONT");
    expect(await freezer.holds(freezeId)).toBe(false);
    const again = await freezer.freeze();
    expect(again.freezeId).not.toBe(freezeId);
    expect(await freezer.holds(again.freezeId)).toBe(true);
    expect(await freezer.holds(freezeId)).toBe(false);
    await freezer.thaw();
  });

  it("thaws by itself when no request comes, and not while they come", async () => {
    start(counting("count"));
    await grows("count");
    const freezer = create();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { freezeId } = await freezer.freeze();
      const before = await read("count");
      for (let request = 0; request < 3; request += 1) {
        vi.advanceTimersByTime(freezeMilliseconds - 1);
        freezer.putOff();
        expect(await freezer.holds(freezeId)).toBe(true);
      }
      expect(await read("count")).toBe(before);
      vi.advanceTimersByTime(freezeMilliseconds);
      await freezer.untilAwake();
      expect(await freezer.holds(freezeId)).toBe(false);
    } finally {
      vi.useRealTimers();
    }
    await grows("count");
    expect(reports).toHaveLength(1);
  });

  it("lets all go on when one cannot be stopped, and names it", async () => {
    const program = start(counting("count"));
    await grows("count");
    const processes = findProcesses();
    // Somebody wakes it as often as it is stopped.
    const stop: typeof processes.stop = async (known) => {
      await processes.stop(known);
      program.kill("SIGCONT");
    };
    const freezer = create({ ...processes, stop });
    await expect(freezer.freeze()).rejects.toMatchObject({
      kind: "timeout",
      message: expect.stringContaining("while :; do echo x"),
    });
    freezer.requireAwake();
    expect(await freezer.thaw()).toBe(false);
    await grows("count");
  });

  it("kills what is frozen without letting it go on, and stays ended", async () => {
    const program = start(`trap 'echo term >> heard' TERM; trap 'echo on >> heard' CONT; ${counting("count")}`);
    await grows("count");
    const freezer = create();
    await freezer.freeze();
    const waiting = expect(freezer.untilAwake()).rejects.toThrow();
    const ended = once(program, "exit");
    await freezer.end();
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(await read("heard")).toBe("");
    await waiting;
    await expect(freezer.freeze()).rejects.toMatchObject({ kind: "conflict" });
  });
});
