export const turnStates = ["queued", "running", "joined", "finished", "stopped", "failed"] as const;
export type TurnState = (typeof turnStates)[number];

/** How a turn ends, once (ARCHITECTURE.md, invariant 14). */
export const turnOutcomes = ["finished", "stopped", "failed"] as const satisfies readonly TurnState[];
export type TurnOutcome = (typeof turnOutcomes)[number];

/**
 * What a turn may become. The database refuses everything else (db/functions/check-turn-transition.sql);
 * a test compares the two. A turn begins as `queued`; one that has begun never goes back to the queue,
 * except for one that joined another and was not taken by the agent (ARCHITECTURE.md, invariant 13).
 */
export const nextTurnStates: Record<TurnState, readonly TurnState[]> = {
  queued: ["running", "joined"],
  running: turnOutcomes,
  joined: ["queued", ...turnOutcomes],
  finished: [],
  stopped: [],
  failed: [],
};

/** Those that a turn may become this one from. */
export function turnStatesBefore(state: TurnState): readonly TurnState[] {
  return turnStates.filter((from) => nextTurnStates[from].includes(state));
}
