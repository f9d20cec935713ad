import { AppError } from "@/server/errors.ts";

/**
 * For everything that came from outside, keys included, however deep it is nested. A NUL and half of a surrogate pair
 * are no text, and cannot be stored.
 */
export function refuseBrokenText(input: unknown): void {
  // A list that grows while it is walked: nesting must not use up the stack.
  const values = [input];
  for (const value of values) {
    if (typeof value === "string" && (value.includes("\0") || !value.isWellFormed())) {
      throw new AppError("invalid-input", "The text contains a character that is not valid. Remove it and try again.");
    }
    if (typeof value === "object" && value !== null) {
      for (const [key, member] of Object.entries(value)) values.push(key, member);
    }
  }
}
