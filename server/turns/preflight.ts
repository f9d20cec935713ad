import type { TurnStart } from "../../db/queries/start-turn.ts";
import type { Actor } from "../auth/index.ts";
import { isRefused } from "../errors.ts";
import type { Look, RunningSandbox } from "../lifecycle/index.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import type { Prompting, TurnContext, TurnJob } from "./turn-context.ts";
import { storePrompting } from "./turn-rows.ts";

/**
 * All that is looked at and stored before a turn is handed to the agent, begun as early as it can be. It
 * belongs to one turn: made before that is inserted, or when it comes up in the queue.
 */
export interface Preflight {
  /** At the sandbox, on its way, for `ensureRunning`; null where this process does not run it. */
  readonly look: Look | null;
  /** What `start_turn` begins the turn with; null where the agent's events are not read yet. */
  readonly ahead: TurnStart["ahead"];
  /** `start_turn` stored it. */
  noteStored(): void;
  /** Stores it beside the look; only after `begun`, which makes the turn ours. */
  store(job: TurnJob, begun: Promise<unknown>): void;
  /** What the prompt goes out with, stored: anew where another life of the sandbox was found than was looked at. */
  prompting(driven: DrivenTurn, signal: AbortSignal): Promise<Prompting>;
}

export function createPreflight(context: TurnContext, actor: Actor, { sessionId }: { sessionId: string }): Preflight {
  return preflightOf(context, context.lifecycle.lookAhead({ actor, sessionId }));
}

/** For a turn that has to wait, or that an earlier process began: nothing is looked at yet. */
export function emptyPreflight(context: TurnContext): Preflight {
  return preflightOf(context, null);
}

function preflightOf({ database, agents, ids }: TurnContext, look: Look | null): Preflight {
  const ahead = look && findAhead(look.sandbox);
  let stored: Promise<Prompting | null> = Promise.resolve(null);

  function findAhead(sandbox: RunningSandbox): TurnStart["ahead"] {
    if (sandbox.signal.aborted) return null;
    const { bus } = agents.get(sandbox);
    if (!bus.connected || bus.passed === 0) return null;
    const { sandboxId, leaseEpoch, sidecar } = sandbox;
    return { sandboxId, leaseEpoch, messageId: ids.messageId(), appliedEvent: bus.passed, bootId: sidecar.bootId };
  }

  return {
    look,
    ahead,
    noteStored() {
      stored = Promise.resolve(ahead);
    },
    store({ actor, turn }, begun) {
      if (!ahead || turn.kind !== "prompt") return;
      stored = begun.then(() => storePrompting({ database, actor, lease: ahead }, { turn, ...ahead }));
      stored.catch(() => {});
    },
    async prompting(driven, signal) {
      const { job, sandbox, fence } = driven;
      const { bootId } = sandbox.sidecar;
      // Under a lease that this process itself has taken anew since, nothing was to be stored any more.
      const isAnew = ahead?.leaseEpoch !== sandbox.leaseEpoch;
      const known = await stored.catch((error: unknown) => {
        if (isAnew && isRefused(error, "lease-superseded")) return null;
        throw error;
      });
      if (known?.bootId === bootId) return known;
      const messageId = job.turn.agentMessageId ?? known?.messageId ?? ids.messageId();
      const appliedEvent = await nextEvent(driven, signal);
      const storing = storePrompting(fence, { turn: job.turn, messageId, appliedEvent, bootId });
      stored = storing;
      return storing;
    },
  };
}

/** Where a turn that begins now starts to listen. A bus that is away stands in the past, which is not of this turn. */
export async function nextEvent(
  { connection: { bus }, sandbox }: Pick<DrivenTurn, "connection" | "sandbox">,
  signal: AbortSignal,
): Promise<number> {
  const passed = bus.connected ? bus.passed : 0;
  return passed || (await sandbox.sidecar.health(signal)).lastEvent;
}
