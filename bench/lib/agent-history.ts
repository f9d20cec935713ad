import { spawnSync } from "node:child_process";
import { createReadStream, createWriteStream, readFileSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import {
  collectEvents,
  createAgentSession,
  createTestSandbox,
  deadline,
  isIdle,
  prompt,
  type TestBoot,
} from "../../sidecar/test-sidecar.ts";
import type { Cost } from "./archive-tools.ts";

const filesPerTurn = 10;

/** A real sidecar whose agent has worked for some turns. */
export interface AgentHistory extends AsyncDisposable {
  /** Over the signed door, with a backup of the live database and its check. */
  create(file: string): Promise<Cost>;
  /** Into a sandbox that has just been started. */
  restore(file: string): Promise<Cost>;
}

/**
 * In each turn the scripted model has the agent put ten source files into its workspace, change a note and
 * read one of them: opencode keeps the conversation in its database and the workspace of each turn beside it.
 */
export async function growHistory(turns: number, sources: string): Promise<AgentHistory> {
  const sandbox = await createTestSandbox();
  const boot = await sandbox.boot();
  await boot.wake();
  const { id } = await createAgentSession(boot.client);
  const files = await listFiles(sources, turns * filesPerTurn);
  let seen = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const taken = files.slice(turn * filesPerTurn, (turn + 1) * filesPerTurn);
    const copy = taken.map((file, index) => `cp '${file}' ${turn}-${index}`).join("; ");
    await prompt(boot.client, id, `@@bash ${copy}; echo ${turn} >> notes; head -c 20000 ${turn}-0`);
    const idle = (await collectEvents(boot.client, seen, isIdle)).at(-1);
    if (idle?.type === "agent") seen = idle.number;
  }
  return {
    create: (file) =>
      measured(boot, async () => {
        const request = { method: "POST", path: "/opencode-history/create", signal: deadline() } as const;
        const { body } = await boot.client.download(request);
        await pipeline(body, createWriteStream(file));
      }),
    async restore(file) {
      const fresh = await createTestSandbox();
      try {
        const started = await fresh.boot({ programs: { ...fresh.launch.programs, opencode: "/bin/false" } });
        return await measured(started, async () => {
          const body = createReadStream(file, { highWaterMark: 262_144 });
          const request = { method: "POST", path: "/opencode-history/restore", body, signal: deadline() } as const;
          const { outcome } = await started.client.upload<{ outcome: string }>(request);
          if (outcome !== "restored") throw new Error(`The history was not restored but ${outcome}.`);
        });
      } finally {
        await fresh.remove();
      }
    },
    [Symbol.asyncDispose]: () => sandbox.remove(),
  };
}

/** What is in an archive, as a plain directory. */
export async function unpackPlainly(file: string, directory: string): Promise<void> {
  await mkdir(directory);
  const { status, stderr } = spawnSync("tar", ["-xzf", file, "-C", directory, "--strip-components=1"], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
}

async function measured({ child }: TestBoot, work: () => Promise<void>): Promise<Cost> {
  const before = ticksOf(child.pid ?? 0);
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1_000;
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
  return { seconds, cpuSeconds: (ticksOf(child.pid ?? 0) - before) / 100, memoryBytes: Number(peak) * 1_024 };
}

/** Hundredths of a second, of all threads. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

async function listFiles(root: string, count: number): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/'/.test(entry.name));
  const step = Math.max(1, Math.floor(files.length / count));
  return files
    .filter((_, index) => index % step === 0)
    .slice(0, count)
    .map(({ parentPath, name }) => join(parentPath, name));
}
