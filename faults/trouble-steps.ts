import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { signalPid } from "../server/sandboxes/backends/local/process-identity.ts";
import { createSandboxPrograms } from "../server/turns/test-programs.ts";
import { endDoomedServer, startDoomedServer } from "./doomed-servers.ts";
import type { FaultTest } from "./fault-test.ts";
import { attempt, goOnWith, makePrompt, type Schedule, type Step, send, untilQuiet } from "./schedule.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** In every schedule. */
export const usualTroubles = {
  "agent stands still": (schedule, random) => standStill(schedule, random, "agent"),
  "sidecar stands still": (schedule, random) => standStill(schedule, random, "sidecar"),
  "database stands still": async (schedule, random) => {
    const pids = await backendsOf(schedule.test);
    const signalAll = (signal: NodeJS.Signals) => {
      for (const pid of pids) signalPid(pid, signal);
    };
    const lasts = random.integer(100, 2_500);
    signalAll("SIGSTOP");
    goOnWith(
      schedule,
      sleep(lasts).then(() => signalAll("SIGCONT")),
    );
    return `${lasts} ms`;
  },
  snapshot: async (schedule) => {
    const { server } = schedule.test;
    const taking = { sessionId: schedule.sessionId, signal: AbortSignal.timeout(60_000) };
    goOnWith(
      schedule,
      attempt(() => server.services.snapshots.take(server.viewer, taking)),
    );
    return "begun";
  },
} satisfies Record<string, Step>;

/** Of these some. */
export const rareTroubles = {
  "agent is killed": async ({ test }) =>
    createSandboxPrograms(test.server.home).signal("agent", "SIGKILL") ? "done" : "none was there",
  "database closes its connections": async ({ test }) => {
    const pids = await backendsOf(test);
    for (const pid of pids) signalPid(pid, "SIGTERM");
    return `${pids.length} of them`;
  },
  "events are cut": async ({ test }) => {
    test.proxy.cut();
    return "done";
  },
  "server is replaced": async (schedule) => {
    await leave(schedule);
    await start(schedule);
    return "done";
  },
  "server is killed": killServer,
  "another server takes over": async (schedule, random) => {
    schedule.replica ??= await schedule.test.server.startReplica();
    // Something for which a sandbox is needed.
    await send(schedule, random);
    await sleep(random.integer(0, 1_000));
    await schedule.test.server.handOver();
    return "done";
  },
} satisfies Record<string, Step>;

/** As of a server of people: what nobody asks for is looked for now and then. */
export function startLoops({ server }: FaultTest): void {
  for (const loop of server.wiring.loops) loop.start();
}

export async function stopLoops({ server }: FaultTest): Promise<void> {
  await Promise.all(server.wiring.loops.map((loop) => loop.stop()));
}

/** Once all is quiet: its sandboxes end with it. */
export async function endReplica(schedule: Schedule): Promise<void> {
  await schedule.replica?.close();
  schedule.replica = null;
}

async function leave({ test }: Schedule): Promise<void> {
  await stopLoops(test);
  await test.server.leave();
}

async function start({ test }: Schedule): Promise<void> {
  await test.server.start();
  startLoops(test);
}

/** In the middle of what it was asked, or of what it went on with. */
async function killServer(schedule: Schedule, random: SeededRandom): Promise<string> {
  const { test, sessionId, told } = schedule;
  const { server } = test;
  const kind = random.pick(["nothing", "prompt", "prompt", "undo", "redo", "compact"] as const);
  if (kind === "undo" || kind === "redo") await untilQuiet(schedule, 20_000);
  const made = makePrompt(schedule, random);
  const asks = kind === "nothing" ? [] : [{ kind, prompt: made.prompt }];
  await leave(schedule);
  try {
    const doomed = await startDoomedServer({ setup: server.setup, viewer: server.viewer, sessionId, asks });
    try {
      const [turnId] = doomed.turnIds;
      if (kind === "prompt" && turnId) told.set(turnId, { fact: made.fact, makes: made.makes });
      const lives = random.chance(0.5) ? random.integer(0, 150) : random.integer(150, 2_500);
      await sleep(lives);
      return `${kind}${turnId ? "" : " refused"}, after ${lives} ms`;
    } finally {
      await endDoomedServer(doomed.child);
    }
  } finally {
    await start(schedule);
  }
}

async function standStill(schedule: Schedule, random: SeededRandom, program: "agent" | "sidecar"): Promise<string> {
  const programs = createSandboxPrograms(schedule.test.server.home);
  // Longer than a prompt waits for its answer, now and then.
  const lasts = random.chance(0.8) ? random.integer(200, 8_000) : random.integer(8_000, 15_000);
  programs.signal(program, "SIGSTOP");
  goOnWith(
    schedule,
    sleep(lasts).then(() => programs.signal(program, "SIGCONT")),
  );
  return `${lasts} ms`;
}

/** Of the connections of all its servers. */
async function backendsOf({ server }: FaultTest): Promise<number[]> {
  const owner = postgres(server.ownerUrl, { max: 1 });
  try {
    const rows = await owner<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    return rows.map(({ pid }) => pid);
  } finally {
    await owner.end();
  }
}
