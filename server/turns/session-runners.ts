import { setTimeout as sleep } from "node:timers/promises";
import type { Actor } from "../auth/index.ts";
import { AppError, isRefused } from "../errors.ts";
import { endAwayTurn } from "./end-away-turn.ts";
import { createPreflight, emptyPreflight } from "./preflight.ts";
import { runTurn } from "./run-turn.ts";
import type { NextTurn, TurnContext, TurnJob } from "./turn-context.ts";
import { findOpenTurn, type OpenTurn } from "./turn-rows.ts";

export interface KickOptions {
  atBoot?: boolean;
  /** What is to run next, of a caller that has just looked. */
  next?: NextTurn | null;
  /** Where another process has to run it, that one is told, instead of leaving it to its next sweep. */
  tells?: boolean;
}

/** One runner for each session with something to do here: it works through the queue and ends. */
export interface SessionRunners {
  /**
   * Starts a runner, or tells the one there to look again before it ends. True when `next` waited and begins
   * here and now.
   */
  kick(actor: Actor, sessionId: string, options?: KickOptions): boolean;
  stop(sessionId: string, turnId: string): void;
  answered(sessionId: string, askId: string): void;
  /** Something is to be sent into the turn that runs. */
  join(sessionId: string): void;
  /** What waits to be handed to the agent is tried at once. */
  tryNow(sessionId: string): void;
  /** Others could not tell anything for a while: stops, answers and joins of the turns that run here are looked for. */
  lookAgain(): Promise<void>;
  isRunning(sessionId: string): boolean;
  /** Nobody here works for that session, or has just ended to. */
  isQuiet(sessionId: string): boolean;
  /** Resolves when the turn of this moment is over, or after that time. */
  turnEnd(sessionId: string, milliseconds: number): Promise<void>;
  /** Leaves all turns as they are. */
  close(): Promise<void>;
}

interface Runner {
  job: TurnJob | null;
  stop: AbortController;
  /** Turns whose stop was heard: one that is just being read may have been read before that. */
  stops: Set<string>;
  again: boolean;
  turn: Promise<void>;
  done: Promise<void>;
}

// A turn that began, or was tried, a moment ago and has no lease yet is on its way in another process.
const youngMilliseconds = 30_000;

export function createSessionRunners(context: TurnContext): SessionRunners {
  const runners = new Map<string, Runner>();
  const closing = new AbortController();

  /** The holder of the sandbox's lease runs its turns; where nobody holds it, whoever can and comes first. */
  function isOurs(turn: OpenTurn, atBoot: boolean): boolean {
    if (!context.lifecycle.isReachable(turn.homeId)) return false;
    if (turn.leaseOwner) return context.lifecycle.isOwnLease(turn.leaseOwner);
    if (turn.state === "queued" || turn.leftBehind || atBoot) return true;
    const lastSeen = Math.max(turn.startedAt?.getTime() ?? 0, turn.nextTryAt?.getTime() ?? 0);
    return Date.now() - lastSeen > youngMilliseconds;
  }

  async function work(actor: Actor, sessionId: string, runner: Runner, options: KickOptions): Promise<void> {
    const { atBoot = false, tells = false } = options;
    let given = options.next ?? null;
    let last: string | null = null;
    while (!closing.signal.aborted) {
      runner.again = false;
      const next = given;
      const turn = next?.turn ?? (await findOpenTurn(context.database, actor, sessionId));
      given = null;
      // One that did not end was left to another process; should there be none, the sweep finds it.
      const isLeft = turn?.id === last && turn?.state === "running";
      if (turn && !isLeft && isOurs(turn, atBoot)) {
        last = turn.id;
        await runOne(actor, next ?? comeTo(actor, turn), runner);
      } else if (turn?.stopRequested && (await endAwayTurn(context, actor, turn))) {
        last = turn.id;
      } else if (!runner.again) {
        // One that was begun here, though another process has the sandbox, is that one's from now on.
        if (isLeft || (tells && turn?.state === "queued")) context.onElsewhere(actor, sessionId);
        return;
      }
    }
  }

  function comeTo(actor: Actor, turn: OpenTurn): NextTurn {
    const isWaiting = turn.state === "queued";
    return {
      turn,
      preflight: isWaiting ? createPreflight(context, actor, turn) : emptyPreflight(context),
      begun: null,
    };
  }

  async function runOne(actor: Actor, next: NextTurn, runner: Runner): Promise<void> {
    const { turn, begun } = next;
    runner.stop = new AbortController();
    const stopLate = lateAfter(runner.stop.signal, context.limits.stopMilliseconds);
    if (turn.stopRequested || runner.stops.has(turn.id)) runner.stop.abort(stopReason());
    const isResumed = turn.state === "running" && begun === null;
    // A summary has no id of ours by which it could be told that it was not asked for.
    const mayBeHeard = isResumed && (turn.kind === "compact" || turn.agentMessageId !== null);
    const job: TurnJob = {
      ...next,
      actor,
      isResumed,
      heard: mayBeHeard ? "perhaps" : "no",
      stop: runner.stop.signal,
      stopLate,
      closing: closing.signal,
      onAnswered: null,
      onJoin: null,
      onPoll: null,
      onTryNow: null,
    };
    runner.job = job;
    runner.turn = runTurn(context, job);
    try {
      await runner.turn;
    } finally {
      runner.job = null;
    }
  }

  return {
    kick(actor, sessionId, options = {}) {
      if (closing.signal.aborted) return false;
      const known = runners.get(sessionId);
      if (known) {
        known.again = true;
        return false;
      }
      const runner: Runner = {
        job: null,
        stop: new AbortController(),
        stops: new Set(),
        again: false,
        turn: Promise.resolve(),
        done: Promise.resolve(),
      };
      runners.set(sessionId, runner);
      runner.done = work(actor, sessionId, runner, options)
        .catch((error: unknown) => {
          if (!closing.signal.aborted) context.logger.error({ err: error, sessionId }, "A turn failed unexpectedly");
        })
        .finally(() => {
          runners.delete(sessionId);
          // Kicked in the last moment.
          if (runner.again) this.kick(actor, sessionId);
        });
      return options.next?.turn.state === "queued" && isOurs(options.next.turn, false);
    },
    stop(sessionId, turnId) {
      const runner = runners.get(sessionId);
      runner?.stops.add(turnId);
      // Heard late, it must not hit the turn after.
      if (runner?.job?.turn.id === turnId) runner.stop.abort(stopReason());
    },
    answered(sessionId, askId) {
      const answer = runners.get(sessionId)?.job?.onAnswered?.(askId);
      answer?.catch((error: unknown) => {
        if (isRefused(error)) return;
        context.logger.error({ err: error, askId }, "An answer did not reach the agent");
      });
    },
    join: (sessionId) => runners.get(sessionId)?.job?.onJoin?.(),
    tryNow: (sessionId) => runners.get(sessionId)?.job?.onTryNow?.(),
    async lookAgain() {
      for (const [sessionId, runner] of [...runners]) {
        const { job } = runner;
        if (!job) continue;
        const turn = await findOpenTurn(context.database, job.actor, sessionId);
        if (runner.job !== job || turn?.id !== job.turn.id) continue;
        if (turn.stopRequested) runner.stop.abort(stopReason());
        job.onJoin?.();
        job.onPoll?.();
      }
    },
    isQuiet: (sessionId) => !closing.signal.aborted && !runners.has(sessionId),
    isRunning: (sessionId) => Boolean(runners.get(sessionId)?.job),
    async turnEnd(sessionId, milliseconds) {
      const runner = runners.get(sessionId);
      if (!runner) return;
      await Promise.race([runner.turn.catch(() => {}), sleep(milliseconds, undefined, { ref: false })]);
    },
    async close() {
      closing.abort(new AppError("unavailable", "The server is stopping."));
      await Promise.all([...runners.values()].map(({ done }) => done));
    },
  };
}

function lateAfter(stop: AbortSignal, milliseconds: number): AbortSignal {
  const late = new AbortController();
  stop.addEventListener("abort", () => setTimeout(() => late.abort(stop.reason), milliseconds).unref(), { once: true });
  return late.signal;
}

function stopReason(): AppError {
  return new AppError("conflict", "The turn was stopped.");
}
