import { describe, expect, it } from "vitest";
import { unknownDetails } from "../protocol/model-details.ts";
import { priceUsage } from "./price-usage.ts";

const none = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const known = { price, longPromptPrices: [] };

describe("the price of one call", () => {
  it("counts each kind of token by its own price, and reasoning as output", () => {
    const tokens = { input: 1000, output: 200, reasoning: 100, cacheRead: 10_000, cacheWrite: 400 };
    expect(priceUsage(tokens, known)).toBe(0.012);
  });

  it("is what opencode itself computes for the captured turn 01", () => {
    const tokens = { input: 2441, output: 11, reasoning: 3, cacheRead: 10, cacheWrite: 0 };
    const scripted = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: null };
    expect(priceUsage(tokens, { price: scripted, longPromptPrices: [] })).toBe(0.00247);
  });

  it("is not known when anything was used whose price is not known", () => {
    const noCache = { price: { ...price, cacheRead: null }, longPromptPrices: [] };
    expect(priceUsage({ ...none, input: 10, cacheRead: 1 }, noCache)).toBeNull();
    expect(priceUsage({ ...none, input: 10 }, noCache)).toBe(0.00003);
    expect(priceUsage({ ...none, reasoning: 1 }, { ...known, price: { ...price, output: null } })).toBeNull();
    expect(priceUsage({ ...none, input: 1 }, unknownDetails)).toBeNull();
  });

  it("is 0 for a model that costs nothing, and for a call that used nothing", () => {
    const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    expect(priceUsage({ ...none, input: 500, output: 500 }, { price: free, longPromptPrices: [] })).toBe(0);
    expect(priceUsage(none, unknownDetails)).toBe(0);
  });

  it("is that of long prompts where the prompt, cached or not, is longer", () => {
    const longPromptPrices = [
      { aboveTokens: 256_000, price: { ...price, input: 12 } },
      { aboveTokens: 128_000, price: { ...price, input: 6 } },
    ];
    const costOf = (input: number, cacheWrite = 0) =>
      priceUsage({ ...none, input, cacheWrite }, { price: { ...price, cacheWrite: 0 }, longPromptPrices });
    expect(costOf(128_000)).toBe(0.384);
    expect(costOf(200_000)).toBe(1.2);
    expect(costOf(300_000)).toBe(3.6);
    expect(costOf(100_000, 100_000)).toBe(0.6 + 0.375);
  });
});
