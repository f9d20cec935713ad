import type { Database } from "../../db/client.ts";
import type { AgentIds } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { Lifecycle } from "../lifecycle/index.ts";
import type { TurnCosts } from "../models/index.ts";
import type { SessionLog, TurnEnd } from "../sessions/index.ts";
import type { Archives } from "../snapshots/index.ts";
import type { AgentConnections } from "./agent-connections.ts";
import type { PendingAborts } from "./pending-aborts.ts";
import type { Preflight } from "./preflight.ts";
import type { OpenTurn } from "./turn-rows.ts";

export interface TurnLimits {
  /** From the turn's start, without the time in which the agent waits for a person. */
  turnMilliseconds: number;
  /** Without any event of the agent, while nobody is asked anything. */
  inactivityMilliseconds: number;
  /** From a stop until the agent is not waited for any more. */
  stopMilliseconds: number;
  /** For the last look then: together they are below the 10 s within which a stop settles. */
  lastLookMilliseconds: number;
  /** Between two tries to hand a turn to the agent; the last one from then on. */
  tryPauses: readonly [number, ...number[]];
  /** Without any event, until the agent is asked whether it still works: the event that says so may be lost. */
  silenceMilliseconds: number;
  /** After the agent is idle, until its last message is complete. */
  settleMilliseconds: number;
}

export const turnLimits: TurnLimits = {
  turnMilliseconds: 30 * 60_000,
  inactivityMilliseconds: 200_000,
  stopMilliseconds: 6_000,
  lastLookMilliseconds: 3_000,
  tryPauses: [1_000, 2_000, 5_000, 10_000, 30_000, 60_000],
  silenceMilliseconds: 10_000,
  settleMilliseconds: 2_000,
};

export interface TurnContext {
  database: Database;
  log: SessionLog;
  lifecycle: Lifecycle;
  archives: Pick<Archives, "openWorkspace" | "whenReplaced">;
  costs: TurnCosts;
  agents: AgentConnections;
  aborts: PendingAborts;
  ids: AgentIds;
  limits: TurnLimits;
  logger: Pick<Logger, "warn" | "error">;
  /** Another process holds the sandbox's lease: it is told that something waits. */
  onElsewhere(actor: Actor, sessionId: string): void;
}

/** What a takeover has to know of a prompt, stored before it leaves. */
export interface Prompting {
  messageId: string;
  appliedEvent: number;
  bootId: string;
}

/** A turn that is to be run, with what was looked at for it. */
export interface NextTurn {
  turn: OpenTurn;
  preflight: Preflight;
  /** Where its prompt stands in the log, of a turn that was begun with its insertion. */
  begun: { number: number; version: number } | null;
}

/** One turn in the hands of this process. */
export interface TurnJob extends NextTurn {
  actor: Actor;
  /** It ran before: in a process that is gone, or here, where it could not be handed to the agent. */
  isResumed: boolean;
  /** Whether its prompt reached the agent. `perhaps`: that has to be looked up. */
  heard: "no" | "perhaps" | "yes";
  /** A person asked for the end. */
  stop: AbortSignal;
  /** And has waited for it long enough: nothing that the agent has to do for it is waited for any more. */
  stopLate: AbortSignal;
  /** The server ends: the turn is left as it is, for the next process. */
  closing: AbortSignal;
  /** Set while the agent may ask something. */
  onAnswered: ((askId: string) => Promise<void>) | null;
  /** Set while messages may join. */
  onJoin: (() => void) | null;
  /** Set while it waits to be tried again. */
  onTryNow: (() => void) | null;
  /** Looks for what was asked or answered unheard. */
  onPoll: (() => void) | null;
}

export type TurnEnding = Pick<TurnEnd, "outcome" | "failure" | "untold">;

export const stopped: TurnEnding = { outcome: "stopped" };

export function failed(code: string, message: string, requestId?: string): TurnEnding {
  return { outcome: "failed", failure: { code, message, ...(requestId && { requestId }) } };
}
