import type { z } from "zod";
import { AppError } from "../errors.ts";

/** Parses what came from outside; the first problem becomes a sentence for whoever sent it. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new AppError("invalid-input", parsed.error.issues[0]?.message ?? "The input is not valid.");
}
