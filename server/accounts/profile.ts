import { and, desc, eq, gt, isNull, ne, sql } from "drizzle-orm";
import { authSessions, users } from "../../db/schema/index.ts";
import { recordAudit } from "../audit/index.ts";
import { AppError } from "../errors.ts";
import { parseInput } from "../lib/parse-input.ts";
import { hashPassword, verifyPassword } from "../lib/password-hash.ts";
import { authSessionId } from "../protocol/ids.ts";
import { password, person } from "./account-input.ts";
import type { AccountsOptions } from "./create-accounts.ts";
import type { Accounts } from "./index.ts";

type ProfileMethods = "updateProfile" | "changePassword" | "listDevices" | "revokeDevice";

export function createProfile({ database, limits, passwordCost }: AccountsOptions): Pick<Accounts, ProfileMethods> {
  return {
    async updateProfile(viewer, input) {
      const { name } = parseInput(person.pick({ name: true }), input);
      await database.transaction(viewer, (tx) =>
        tx.update(users).set({ name, updatedAt: new Date() }).where(eq(users.id, viewer.userId)),
      );
    },

    async changePassword(viewer, { current, next }) {
      const wanted = parseInput(password, next);
      // A stolen cookie must not be a way to guess the password either.
      const attempt = { account: `password of ${viewer.userId}`, clientAddress: `person ${viewer.userId}` };
      await limits.count(attempt);
      const rows = await database.transaction(viewer, (tx) => tx.execute(sql`select own_password_hash() as hash`));
      if (!(await verifyPassword(current, String(rows[0]?.hash)))) {
        throw new AppError("invalid-input", "The current password is wrong.");
      }
      await limits.forget(attempt);
      const hash = await hashPassword(wanted, passwordCost);
      await database.transaction(viewer, async (tx) => {
        await tx.execute(sql`select set_own_password_hash(${hash})`);
        await tx
          .update(authSessions)
          .set({ revokedAt: new Date() })
          .where(
            and(
              eq(authSessions.userId, viewer.userId),
              ne(authSessions.id, viewer.authSessionId),
              isNull(authSessions.revokedAt),
            ),
          );
        await recordAudit(tx, viewer, { action: "password-change", subject: viewer.userId });
      });
    },

    async listDevices(viewer) {
      const rows = await database.transaction(viewer, (tx) =>
        tx
          .select()
          .from(authSessions)
          .where(
            and(
              eq(authSessions.userId, viewer.userId),
              isNull(authSessions.revokedAt),
              gt(authSessions.expiresAt, new Date()),
            ),
          )
          .orderBy(desc(authSessions.lastSeenAt))
          .limit(100),
      );
      return rows.map(({ id, userAgent, clientAddress, createdAt, lastSeenAt }) => ({
        id,
        userAgent,
        clientAddress,
        createdAt,
        lastSeenAt,
        current: id === viewer.authSessionId,
      }));
    },

    async revokeDevice(viewer, id) {
      const wanted = parseInput(authSessionId, id);
      const revoked = await database.transaction(viewer, (tx) =>
        tx
          .update(authSessions)
          .set({ revokedAt: new Date() })
          .where(and(eq(authSessions.id, wanted), eq(authSessions.userId, viewer.userId)))
          .returning({ id: authSessions.id }),
      );
      if (revoked.length === 0) throw new AppError("not-found", "That device is already signed out.");
    },
  };
}
