import type { ModelDetails, ModelPrice } from "../../../server/protocol/model-details.ts";

/** `$3 in · $15 out · 200k context`. */
export function describeDetails({ price, maxContextTokens }: ModelDetails): string {
  const context = maxContextTokens === null ? [] : [`${tokenCount(maxContextTokens)} context`];
  return [describePrice(price), ...context].join(" · ");
}

export function describePrice({ input, output }: ModelPrice): string {
  return input === null || output === null ? "Price unknown" : `${dollars(input)} in · ${dollars(output)} out`;
}

/** `200k`, `1.05M`. */
export function tokenCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${Number((count / 1000).toFixed(1))}k`;
  return `${Number((count / 1_000_000).toFixed(2))}M`;
}

// Whole dollars stand alone; otherwise cents, or as many places as the price has.
const dollars = (value: number) =>
  `$${Number.isInteger(value) ? value : value.toFixed(Math.max(2, String(value).split(".")[1]?.length ?? 0))}`;

/** Both signs that people write before decimals are understood; nothing typed is nothing known. */
export function parseNumber(typed: string | undefined): number | null {
  const text = (typed ?? "").trim().replace(",", ".");
  return text === "" ? null : Number(text);
}
