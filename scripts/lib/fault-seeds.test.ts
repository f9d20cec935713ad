import { describe, expect, it } from "vitest";
import { chooseSeeds } from "./fault-seeds.mjs";

const choose = (seed?: string, seeds?: string) => chooseSeeds({ seed, seeds, otherwise: 3 });

describe("the seeds to run", () => {
  it("are those that were named, else the first ones", () => {
    expect(choose("7")).toEqual([7]);
    expect(choose("7, 12", "100")).toEqual([7, 12]);
    expect(choose(undefined, "2")).toEqual([1, 2]);
    expect(choose()).toEqual([1, 2, 3]);
    expect(choose("", "")).toEqual([1, 2, 3]);
  });

  it.each(["0", "-1", "1.5", "seven", "1,", "1000001", "NaN"])("are not %s", (text) => {
    expect(() => choose(text)).toThrow("SEED must be a whole number from 1 to 1000000");
    if (!text.includes(",")) expect(() => choose(undefined, text)).toThrow("SEEDS must be a whole number");
  });
});
