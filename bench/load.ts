import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { LogDelta, LogEntry } from "../server/protocol/log-entry.ts";
import type { SessionEvent } from "../server/protocol/session-events.ts";
import { applySessionEvents, emptyViewerState, type ViewerState } from "../server/protocol/viewer-state.ts";
import { type CpuTimes, cpuSince, dormouseProgram, readCpuTimes } from "./lib/cpu-time.ts";
import type { RunningDormouse } from "./lib/measured-dormouse.ts";
import { invitePerson, type Person } from "./lib/person.ts";
import { now, timesIn } from "./lib/scripted-model.ts";

export interface LoadSize {
  turns: number;
  viewers: number;
  sandboxes: number;
}

export interface LoadFigures {
  /** From the model's saying it until a viewer holds it. */
  lags: number[];
  /** Viewers whose state at the end is not what the log holds; has to be 0. */
  astray: number;
  /** Turns that did not end as finished; has to be 0. */
  unfinished: number;
  /** How many turns were streaming at the moment when most were. */
  atOnce: number;
  bytesPerViewer: number;
  serverBytes: number;
  /** Of all cores while the turns streamed, by program; 1 is one core. The bench plays viewers and model. */
  cores: CpuTimes;
}

interface Viewing {
  person: Person;
  sessionId: string;
  state: ViewerState;
  stop(): void;
}

const wakeDeadline = 300_000;
const turnDeadline = 300_000;
const stamps = 40;
const everyMilliseconds = 500;

/** Many turns at once, in few sandboxes, with many viewers. Nothing may be lost. */
export async function measureLoad(dormouse: RunningDormouse, size: LoadSize): Promise<LoadFigures> {
  const people = await bringPeople(dormouse, size.sandboxes);
  const sessions = await Promise.all(
    Array.from({ length: size.turns }, async (_, index) => {
      const person = people[index % people.length] as Person;
      const { session } = await person.call<{ session: { id: string } }>("POST", "/api/v1/sessions");
      return { person, sessionId: session.id };
    }),
  );
  // One after another: what is measured is turns, not wakes. The first turn of each session is slow, too.
  for (const session of sessions.slice(0, people.length)) await runTurns([session], "say hello", wakeDeadline);
  for (let at = people.length; at < sessions.length; at += 8) {
    await runTurns(sessions.slice(at, at + 8), "say hello", wakeDeadline);
  }

  const before = await residentBytes(dormouse.pid);
  const lags: number[] = [];
  const viewings: Viewing[] = [];
  for (let index = 0; index < size.viewers; index++) {
    const { person, sessionId } = sessions[index % sessions.length] as (typeof sessions)[number];
    viewings.push(await view(person, sessionId, lags));
  }
  await until(() => viewings.every(({ state }) => state.version > 0), 60_000, "A viewer received nothing");
  const bytesPerViewer = ((await residentBytes(dormouse.pid)) - before) / size.viewers;

  lags.length = 0;
  const readCpu = () => ({ ...readCpuTimes(dormouse.pid, dormouseProgram), bench: ownCpuTime() });
  const [begunAt, cpuBefore] = [performance.now(), readCpu()];
  await runTurns(sessions, `stamp ${stamps} every ${everyMilliseconds}`, turnDeadline);
  const lasted = performance.now() - begunAt;
  const used = Object.entries(cpuSince(cpuBefore, readCpu()));
  const cores = Object.fromEntries(used.map(([program, time]) => [program, time / lasted]));
  const serverBytes = await residentBytes(dormouse.pid);
  const logs = new Map<string, LogEntry[]>();
  for (const { person, sessionId } of sessions) logs.set(sessionId, await readLog(person, sessionId));
  const isComplete = ({ sessionId, state }: Viewing) =>
    isDeepStrictEqual(shown(state.entries), shown(logs.get(sessionId) ?? []));
  await until(() => viewings.every(isComplete), 10_000).catch(() => {});
  const astray = viewings.filter((viewing) => !isComplete(viewing)).length;
  for (const { stop } of viewings) stop();
  return { lags, astray, ...summarize([...logs.values()]), bytesPerViewer, serverBytes, cores };
}

async function bringPeople(dormouse: RunningDormouse, count: number): Promise<Person[]> {
  const people: Person[] = [dormouse];
  for (let index = 1; index < count; index++) {
    const credentials = { email: `bench-${index}@example.org`, password: "a long bench password" };
    people.push(await invitePerson(dormouse.url, dormouse, credentials));
  }
  return people;
}

/** Resolves when all have ended. */
async function runTurns(
  sessions: readonly { person: Person; sessionId: string }[],
  prompt: string,
  milliseconds: number,
): Promise<void> {
  let open = sessions.length;
  const watching = await Promise.all(
    sessions.map(async ({ person, sessionId }) => {
      const { version } = await readVersion(person, sessionId);
      return person.follow(`/api/v1/sessions/${sessionId}/events?after=${version}`, ({ event, data }) => {
        if (event !== "entries") return;
        const { entries } = JSON.parse(data) as { entries: LogEntry[] };
        if (entries.some(({ kind }) => kind === "turn-end")) open -= 1;
      });
    }),
  );
  await Promise.all(
    sessions.map(({ person, sessionId }) =>
      person.call("POST", `/api/v1/sessions/${sessionId}/turns`, { prompt, idempotencyKey: crypto.randomUUID() }),
    ),
  );
  await until(() => open <= 0, milliseconds, "Turns did not end");
  for (const { stop } of watching) stop();
}

async function view(person: Person, sessionId: string, lags: number[]): Promise<Viewing> {
  const viewing: Viewing = { person, sessionId, state: emptyViewerState, stop() {} };
  const { stop } = await person.follow(`/api/v1/sessions/${sessionId}/events`, ({ event, data }) => {
    const parsed = { event, data: JSON.parse(data) } as SessionEvent;
    if (event === "delta") for (const time of timesIn((parsed.data as LogDelta).text)) lags.push(now() - time);
    viewing.state = applySessionEvents(viewing.state, [parsed]);
  });
  return Object.assign(viewing, { stop });
}

/** The log as whoever comes later reads it. */
async function readVersion(person: Person, sessionId: string): Promise<{ entries: LogEntry[]; version: number }> {
  const { promise, resolve } = Promise.withResolvers<{ entries: LogEntry[]; version: number }>();
  let state = emptyViewerState;
  const { stop } = await person.follow(`/api/v1/sessions/${sessionId}/events`, ({ event, data }) => {
    const parsed = { event, data: JSON.parse(data) } as SessionEvent;
    state = applySessionEvents(state, [parsed]);
    if (parsed.event === "entries" && !parsed.data.more)
      resolve({ entries: [...state.entries], version: state.version });
  });
  const late = sleep(60_000, null, { ref: false });
  const read = await Promise.race([promise, late]);
  stop();
  if (!read) throw new Error("A session's log was not read within 60 s");
  return read;
}

const readLog = async (person: Person, sessionId: string) => (await readVersion(person, sessionId)).entries;

/** Without the version: text that came as deltas raises the log's, not the viewer's, until it comes whole. */
function shown(entries: readonly LogEntry[]): unknown[] {
  return entries.map(({ number, kind, body, open }) => ({ number, kind, body, open }));
}

function summarize(logs: readonly LogEntry[][]): { unfinished: number; atOnce: number } {
  const spans = logs.map((entries) => {
    const texts = entries.flatMap((entry) => (entry.kind === "agent_message" ? timesIn(entry.body.text) : []));
    return { count: texts.length, from: Math.min(...texts), to: Math.max(...texts) };
  });
  const ends = logs.map((entries) => entries.findLast((entry) => entry.kind === "turn-end"));
  const unfinished = ends.filter((end, index) => {
    const isFinished = end?.kind === "turn-end" && end.body.outcome === "finished";
    return !isFinished || spans[index]?.count !== stamps;
  }).length;
  const atOnce = Math.max(
    ...spans.map(({ from: at }) => spans.filter(({ from, to }) => from <= at && at <= to).length),
  );
  return { unfinished, atOnce };
}

function ownCpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

async function until(isTrue: () => boolean, milliseconds: number, problem = "It did not happen"): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`${problem} within ${milliseconds / 1000} s`);
    await sleep(50);
  }
}
