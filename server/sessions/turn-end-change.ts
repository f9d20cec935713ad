import type { TurnEnd } from "./session-log.ts";

/** What write_log stores on the turn's row beside the `turn-end` entry. */
export function turnEndChange(
  turnId: string | null,
  { outcome, untold, failure, usage, undone, redone }: TurnEnd,
): object {
  return {
    end: turnId,
    state: outcome,
    code: failure?.code ?? null,
    message: failure?.message ?? null,
    ...(untold && { untold }),
    ...(undone && { undone }),
    ...(redone && { redone }),
    ...(usage && {
      cost: usage.cost,
      ...usage.tokens,
      providerId: usage.providerId,
      modelId: usage.modelId,
    }),
  };
}
