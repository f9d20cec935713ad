import type { ModelDetails } from "../protocol/model-details.ts";

/** Each token counts in one of them: `input` without what the cache held, `output` without reasoning. */
export interface TokenCounts {
  input: number;
  output: number;
  reasoning: number;
  cacheRead: number;
  cacheWrite: number;
}

/**
 * The dollars of one call of a model. Reasoning is billed as output. Null as soon as anything was used
 * whose price is not known: a part of a cost would look like all of it.
 */
export function priceUsage(
  tokens: TokenCounts,
  { price, longPromptPrices }: Pick<ModelDetails, "price" | "longPromptPrices">,
): number | null {
  const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
  const { price: applied } = longPromptPrices
    .filter(({ aboveTokens }) => prompt > aboveTokens)
    .reduce((highest, next) => (next.aboveTokens > highest.aboveTokens ? next : highest), { aboveTokens: 0, price });
  const parts: [number, number | null][] = [
    [tokens.input, applied.input],
    [tokens.output + tokens.reasoning, applied.output],
    [tokens.cacheRead, applied.cacheRead],
    [tokens.cacheWrite, applied.cacheWrite],
  ];
  let millionths = 0;
  for (const [count, dollars] of parts) {
    if (count === 0) continue;
    if (dollars === null) return null;
    millionths += count * dollars;
  }
  return roundDollars(millionths / 1_000_000);
}

/** Sums of floating numbers end in dust; nothing costs less than a billionth of a dollar. */
export function roundDollars(dollars: number): number {
  return Math.round(dollars * 1e9) / 1e9;
}
