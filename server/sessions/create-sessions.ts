import { desc, eq } from "drizzle-orm";
import { z } from "zod";
import type { Database } from "../../db/client.ts";
import { removedWorkspaces, sessions } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { parseInput } from "../lib/parse-input.ts";
import { sessionId } from "../protocol/ids.ts";
import { maxTitleLength } from "../protocol/limits.ts";
import type { ReleaseSession, SessionSummary, Sessions } from "./index.ts";
import type { SessionLog } from "./session-log.ts";

const titleInput = z
  .string("Enter a title.")
  .trim()
  .min(1, "Enter a title.")
  .max(maxTitleLength, `A title can have at most ${maxTitleLength} characters.`);

export interface SessionsOptions {
  database: Database;
  log: Pick<SessionLog, "notifyViewers">;
  release: ReleaseSession;
  /** Told of a clean-up that failed; the session is removed all the same. */
  onReleaseFailed?: (error: unknown, sessionId: string) => void;
  /** Whoever runs that sandbox is to remove what is left there of a session. */
  onRemoved?: (sandbox: { sandboxId: string; actor: Actor }) => Promise<void>;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { database, log, release, onReleaseFailed = () => {}, onRemoved = async () => {} } = options;
  return {
    async list(viewer) {
      const rows = await database.transaction(viewer, (tx) =>
        tx.select().from(sessions).orderBy(desc(sessions.updatedAt)).limit(500),
      );
      return rows.map(toSummary);
    },

    async create(viewer) {
      const [row] = await database.transaction(viewer, (tx) =>
        tx.insert(sessions).values({ tenantId: viewer.tenantId, userId: viewer.userId }).returning(),
      );
      if (!row) throw new Error("The session was not stored.");
      return toSummary(row);
    },

    async find(viewer, id) {
      const wanted = sessionId.safeParse(id);
      if (!wanted.success) return null;
      const [row] = await database.transaction(viewer, (tx) =>
        tx.select().from(sessions).where(eq(sessions.id, wanted.data)),
      );
      return row ? toSummary(row) : null;
    },

    async rename(viewer, id, given) {
      const wanted = sessionId.safeParse(id);
      const title = parseInput(titleInput, given);
      if (!wanted.success) return null;
      const [row] = await database.transaction(viewer, (tx) =>
        tx.update(sessions).set({ title, titleFrom: "person" }).where(eq(sessions.id, wanted.data)).returning(),
      );
      if (!row) return null;
      await log.notifyViewers(row.id);
      return toSummary(row);
    },

    async remove(viewer, id) {
      const wanted = sessionId.safeParse(id);
      if (!wanted.success) return false;
      const [row] = await database.transaction(viewer, (tx) =>
        tx.select().from(sessions).where(eq(sessions.id, wanted.data)),
      );
      if (!row) return false;
      try {
        await release(viewer, { sessionId: row.id, sandboxId: row.sandboxId, agentSessionId: row.agentSessionId });
      } catch (error) {
        onReleaseFailed(error, row.id);
      }
      const { sandboxId } = row;
      await database.transaction(viewer, async (tx) => {
        await tx.delete(sessions).where(eq(sessions.id, row.id));
        if (sandboxId === null) return;
        const { tenantId, userId } = row;
        await tx
          .insert(removedWorkspaces)
          .values({ sessionId: row.id, sandboxId, tenantId, userId })
          .onConflictDoNothing();
      });
      if (sandboxId !== null) await onRemoved({ sandboxId, actor: viewer });
      // Viewers find nothing any more and end.
      await log.notifyViewers(row.id);
      return true;
    },
  };
}

function toSummary({ id, title, createdAt, updatedAt }: typeof sessions.$inferSelect): SessionSummary {
  return { id, title: title || "New session", createdAt, updatedAt };
}
