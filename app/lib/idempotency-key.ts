import { z } from "zod";
import { AppError } from "@/server/errors.ts";

// What a database cannot keep apart would make one key of two: NUL, and halves of surrogate pairs.
const key = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text));

/** A repeated call with the same key gives what the first one made. */
export function idempotencyKey(given: unknown): string {
  const read = key.safeParse(given);
  if (read.success) return read.data;
  throw new AppError(
    "invalid-input",
    "Send an idempotency key of 1 to 200 characters without control characters or broken Unicode, so that a repeated request does not run twice.",
  );
}
