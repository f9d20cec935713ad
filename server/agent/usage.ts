import type { StepUsage } from "./index.ts";
import { isFields } from "./tool-content.ts";
import type { AgentPart, KnownMessage } from "./translator-state.ts";

/** Tokens of one step, from its step-finish part and the message it belongs to. */
export function readUsage(part: AgentPart, message: KnownMessage | undefined): StepUsage {
  const tokens = isFields(part.tokens) ? part.tokens : {};
  const cache = isFields(tokens.cache) ? tokens.cache : {};
  return {
    tokens: {
      input: numberOf(tokens.input),
      output: numberOf(tokens.output),
      reasoning: numberOf(tokens.reasoning),
      cacheRead: numberOf(cache.read),
      cacheWrite: numberOf(cache.write),
    },
    providerId: message?.providerId ?? null,
    modelId: message?.modelId ?? null,
  };
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
