import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../../db/client.ts";
import { AppError } from "../errors.ts";
import { queueLimits } from "../protocol/limits.ts";
import { states } from "./turn-rows.ts";

/** Whether so many turns and bytes more would be too many. The session's row is locked. */
export async function isQueueFull(
  tx: Transaction,
  {
    sessionId,
    adds,
    besides = sql`true`,
  }: { sessionId: string; adds: { turns: number; bytes: number }; besides?: SQL },
): Promise<boolean> {
  const [waiting] = await tx.execute<{ turns: string; bytes: string }>(sql`
    select count(*) as turns, coalesce(sum(octet_length(prompt)), 0) as bytes from turns
    where session_id = ${sessionId} and state in ${states("queued")} and ${besides}`);
  const { maxTurns, maxBytes } = queueLimits;
  return Number(waiting?.turns) + adds.turns > maxTurns || Number(waiting?.bytes) + adds.bytes > maxBytes;
}

export function fullQueue(): AppError {
  const { maxTurns, maxBytes } = queueLimits;
  return new AppError(
    "limit-exceeded",
    `The queue of this session is full: ${maxTurns} messages or ${maxBytes / 1024 ** 2} MB of text can wait. Nothing was changed. Try again when the agent has answered some, or remove one.`,
  );
}
