import { describe, expect, it } from "vitest";
import { unknownDetails } from "../../../server/protocol/model-details.ts";
import { describeDetails, parseNumber } from "./describe-details.ts";

describe("a model's details in one line", () => {
  const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: null };

  it("name both prices and the context", () => {
    expect(describeDetails({ ...unknownDetails, price, maxContextTokens: 200_000 })).toBe(
      "$3 in · $15 out · 200k context",
    );
    expect(describeDetails({ ...unknownDetails, price, maxContextTokens: 1_050_000 })).toContain("1.05M context");
  });

  it("tell a free model from one whose price is unknown", () => {
    const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    expect(describeDetails({ ...unknownDetails, price: free })).toBe("$0 in · $0 out");
    expect(describeDetails(unknownDetails)).toBe("Price unknown");
    expect(describeDetails({ ...unknownDetails, price: { ...price, output: null } })).toBe("Price unknown");
  });
});

describe("a typed number", () => {
  it("may have a comma or a point, and be left out", () => {
    expect(parseNumber("1,25")).toBe(1.25);
    expect(parseNumber(" 0.5 ")).toBe(0.5);
    expect(parseNumber("0")).toBe(0);
    expect(parseNumber("")).toBeNull();
    expect(parseNumber(undefined)).toBeNull();
  });
});
