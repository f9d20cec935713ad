import { expect, test } from "vitest";
import { idempotencyKey } from "./idempotency-key.ts";

test("a key is taken as it is", () => {
  for (const key of ["a", "x".repeat(200), "Größe 🐭", crypto.randomUUID()]) expect(idempotencyKey(key)).toBe(key);
});

test("what could not be told from another key is refused", () => {
  for (const key of ["", "x".repeat(201), null, 7, "a\ud800", "a\udfff", "a\0", "a\nb", "a\u007f", "a\u0085"]) {
    expect(() => idempotencyKey(key), JSON.stringify(key)).toThrow(expect.objectContaining({ kind: "invalid-input" }));
  }
});
