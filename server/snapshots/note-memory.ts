import { and, eq, isNotNull, sql } from "drizzle-orm";
import { sessions } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { type ArchiveContext, asHolder } from "./archive-context.ts";

/**
 * All sessions of a sandbox share its memory. What became of it shows at once; the log has its note with the
 * session's next turn, which looks at what the agent still knows and gives back the rest.
 */
export async function noteMemory(
  context: ArchiveContext,
  sandbox: { actor: Actor; sandboxId: string; leaseEpoch: number },
  { status, cause }: { status: "restored" | "fresh"; cause: string },
): Promise<void> {
  const { sandboxId } = sandbox;
  const told = await asHolder(
    context,
    sandbox,
  )((tx) =>
    tx
      .update(sessions)
      .set({ memoryStatus: status, memoryCause: cause, memoryDoubt: cause, memoryAt: sql`now()` })
      .where(and(eq(sessions.sandboxId, sandboxId), isNotNull(sessions.agentSessionId)))
      .returning({ id: sessions.id }),
  );
  for (const { id } of told) context.onSessionChanged?.(id);
}
