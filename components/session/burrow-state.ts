import type { LogEntry } from "@/server/protocol/log-entry.ts";
import type { SessionState } from "@/server/protocol/session-events.ts";
import type { BurrowState } from "./burrow-line.tsx";

const progress = {
  "starting-sandbox": 0.3,
  restoring: 0.5,
  "starting-agent": 0.7,
  "restarting-agent": 0.7,
  "restoring-files": 0.85,
  "files-ready": 1,
  running: 1,
  failed: 0,
} as const;

const wakingWords: Partial<Record<keyof typeof progress, string>> = {
  restoring: "Restoring the agent's memory",
  "restoring-files": "Restoring your files",
};

const settled: readonly string[] = ["running", "failed", "files-ready"] satisfies (keyof typeof progress)[];

/** The line and its words, from the session's state and the newest phase in the log. */
export function toBurrow(
  session: SessionState | null,
  entries: readonly LogEntry[],
): { line: BurrowState; words: string; isAsleep: boolean } {
  if (session?.sandbox.away) {
    return {
      line: "absent",
      words: `Waiting for ${session.sandbox.away.machine ?? "another machine"}`,
      isAsleep: false,
    };
  }
  const running = session?.runningTurnId ?? null;
  const phase = newestPhase(entries, running);
  if (running && phase === "waiting" && !session?.stopRequested) {
    return { line: "failed", words: "Waiting to try again", isAsleep: false };
  }
  if (running && phase && phase !== "waiting" && !settled.includes(phase)) {
    return { line: { waking: progress[phase] }, words: wakingWords[phase] ?? "Waking", isAsleep: false };
  }
  if (running && session?.stopRequested) return { line: "working", words: "Stopping", isAsleep: false };
  // Nothing flows: it is the person's turn now.
  if (running && isAsking(entries, running))
    return { line: "awake", words: "Waiting for your answer", isAsleep: false };
  if (running) return { line: "working", words: "Working", isAsleep: false };
  switch (session?.sandbox.state) {
    case "running":
      return { line: "awake", words: "Awake", isAsleep: false };
    case "provisioning":
      return { line: { waking: 0.3 }, words: "Waking", isAsleep: false };
    case "sleeping":
      return { line: "asleep", words: "Asleep · wakes when you send", isAsleep: true };
    case "failed":
      return {
        line: "failed",
        words: session.sandbox.cause ?? "The sandbox failed · restarts when you send",
        isAsleep: false,
      };
    default:
      return { line: "absent", words: "No sandbox yet · starts when you send", isAsleep: false };
  }
}

/** What was last seen of one whose machine is away is not how it is. */
export function isAwake({ state, away }: SessionState["sandbox"]): boolean {
  return state === "running" && !away;
}

function newestPhase(entries: readonly LogEntry[], turnId: string | null) {
  const newest = entries.findLast(
    (entry) => entry.turnId === turnId && entry.under === null && entry.kind !== "prompt",
  );
  return newest?.kind === "sandbox-phase" ? newest.body.phase : null;
}

function isAsking(entries: readonly LogEntry[], turnId: string): boolean {
  return entries.some((entry) => entry.turnId === turnId && entry.kind === "ask" && entry.body.state === "pending");
}

const memoryWords = {
  intact: "Memory intact",
  restored: "Memory restored",
  replayed: "Memory rebuilt from the transcript",
  partial: "Memory incomplete",
  fresh: "Memory lost",
} as const;

export function toMemoryWords(session: SessionState | null): string | null {
  if (!session) return null;
  const { status, cause } = session.memory;
  // Without a cause nothing was lost: the session has only just begun.
  return status === "fresh" && cause === null ? "Memory starts here" : memoryWords[status];
}

const meanings = {
  intact: "The agent remembers this conversation.",
  restored: "The agent's memory was restored from its archive.",
  replayed: "The agent lost its memory and was given the whole conversation again.",
  partial:
    "The agent lost its memory and was given only the latest part of the conversation again. The rest was too long.",
  fresh: "The agent does not remember this conversation.",
} as const;

export function memoryMeaning({ memory: { status, cause } }: SessionState): string {
  return status === "fresh" && cause === null
    ? "This conversation is new. The agent remembers it from here on."
    : meanings[status];
}
