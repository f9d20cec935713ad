import { z } from "zod";

// More than any provider asks, and little enough to be added up exactly.
const maxDollars = 100_000;
const maxTokens = 100_000_000;

const dollars = z.number().min(0, "A price cannot be negative.").max(maxDollars, "That price is too high.").nullable();
const tokens = z
  .int("A limit must be a whole number of tokens.")
  .min(1, "A limit must be at least 1 token.")
  .max(maxTokens, "That limit is too high.")
  .nullable();

/** In dollars for a million tokens; null where it is not known. */
export const modelPrice = z.object({ input: dollars, output: dollars, cacheRead: dollars, cacheWrite: dollars });

/** What a model costs and can take. */
export const modelDetails = z.object({
  price: modelPrice,
  /** For all tokens of a call whose prompt is longer than `aboveTokens`. */
  longPromptPrices: z.array(z.object({ aboveTokens: z.int().min(1), price: modelPrice })).max(10),
  maxContextTokens: tokens,
  maxInputTokens: tokens,
  maxOutputTokens: tokens,
  images: z.boolean(),
  pdfs: z.boolean(),
  reasoning: z.boolean(),
});

export type ModelPrice = z.infer<typeof modelPrice>;
export type ModelDetails = z.infer<typeof modelDetails>;

/** Where a model's details come from: `unknown` when nobody told any. */
export const detailSources = ["admin", "catalogue", "unknown"] as const;
export type DetailSource = (typeof detailSources)[number];

export const unknownDetails: ModelDetails = {
  price: { input: null, output: null, cacheRead: null, cacheWrite: null },
  longPromptPrices: [],
  maxContextTokens: null,
  maxInputTokens: null,
  maxOutputTokens: null,
  images: false,
  pdfs: false,
  reasoning: false,
};
