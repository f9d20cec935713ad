import { expect, it } from "vitest";
import { cost } from "./wording.ts";

it("a turn's cost is an amount, nothing at all, or not known", () => {
  expect(cost(1.234)).toBe("$1.23");
  expect(cost(0.0004)).toBe("under $0.01");
  expect(cost(0)).toBe("$0");
  expect(cost(null)).toBe("cost –");
});
