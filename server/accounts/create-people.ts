import { and, asc, eq, isNull, max } from "drizzle-orm";
import type { Transaction } from "../../db/client.ts";
import { authSessions, users } from "../../db/schema/index.ts";
import { recordAudit } from "../audit/index.ts";
import { requireRole } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import { parseInput } from "../lib/parse-input.ts";
import { userId } from "../protocol/ids.ts";
import type { AccountsOptions } from "./create-accounts.ts";
import type { Accounts } from "./index.ts";

export function createPeople({
  database,
}: AccountsOptions): Pick<Accounts, "listPeople" | "disablePerson" | "enablePerson"> {
  return {
    async listPeople(viewer) {
      requireRole(viewer, "admin");
      return database.transaction(viewer, (tx) =>
        tx
          .select({
            id: users.id,
            email: users.email,
            name: users.name,
            role: users.role,
            createdAt: users.createdAt,
            disabledAt: users.disabledAt,
            lastSeenAt: max(authSessions.lastSeenAt),
          })
          .from(users)
          .leftJoin(authSessions, eq(authSessions.userId, users.id))
          .groupBy(users.id)
          .orderBy(asc(users.name)),
      );
    },

    async disablePerson(viewer, id) {
      requireRole(viewer, "admin");
      const wanted = parseInput(userId, id);
      if (wanted === viewer.userId) throw new AppError("conflict", "You cannot disable yourself. Ask another admin.");
      await database.transaction(viewer, async (tx) => {
        const changed = await tx
          .update(users)
          .set({ disabledAt: new Date(), updatedAt: new Date() })
          .where(and(eq(users.id, wanted), isNull(users.disabledAt)))
          .returning({ id: users.id });
        if (changed.length === 0) return requirePerson(tx, wanted);
        await tx
          .update(authSessions)
          .set({ revokedAt: new Date() })
          .where(and(eq(authSessions.userId, wanted), isNull(authSessions.revokedAt)));
        await recordAudit(tx, viewer, { action: "person-disable", subject: wanted });
      });
    },

    async enablePerson(viewer, id) {
      requireRole(viewer, "admin");
      const wanted = parseInput(userId, id);
      await database.transaction(viewer, async (tx) => {
        await requirePerson(tx, wanted);
        await tx.update(users).set({ disabledAt: null, updatedAt: new Date() }).where(eq(users.id, wanted));
        await recordAudit(tx, viewer, { action: "person-enable", subject: wanted });
      });
    },
  };
}

async function requirePerson(tx: Transaction, id: string): Promise<void> {
  const found = await tx.select({ id: users.id }).from(users).where(eq(users.id, id));
  if (found.length === 0) throw new AppError("not-found", "There is no such person.");
}
