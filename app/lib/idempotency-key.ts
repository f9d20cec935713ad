import { z } from "zod";
import { AppError } from "@/server/errors.ts";

const key = z.string().min(1).max(200);

/** A repeated call with the same key gives what the first one made. */
export function idempotencyKey(given: unknown): string {
  const read = key.safeParse(given);
  if (read.success) return read.data;
  throw new AppError(
    "invalid-input",
    "Send an idempotency key of 1 to 200 characters, so that a repeated request does not run twice.",
  );
}
