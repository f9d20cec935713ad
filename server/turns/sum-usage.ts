import type { StepUsage } from "../agent/index.ts";
import type { EntryBody } from "../protocol/log-entry.ts";

/** Null when no model was asked: then there is nothing to tell. */
export function sumUsage(
  steps: readonly StepUsage[],
  { startedAt, cost }: { startedAt: Date; cost: number | null },
): EntryBody<"usage"> | null {
  const last = steps.at(-1);
  if (!last) return null;
  const total = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
  for (const step of steps) {
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += step.tokens[key];
  }
  const { providerId, modelId } = last;
  return { cost, tokens: total, providerId, modelId, milliseconds: Math.max(0, Date.now() - startedAt.getTime()) };
}
