import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { findSignInCandidate, findViewerRow } from "../../db/queries/sign-in-rows.ts";
import { authSessions } from "../../db/schema/index.ts";
import { AppError } from "../errors.ts";
import { type PasswordCost, verifyNothing, verifyPassword } from "../lib/password-hash.ts";
import { uuidPattern } from "../protocol/ids.ts";
import type { Viewer } from "./actor.ts";
import type { Admission } from "./admission.ts";
import type { AttemptLimits } from "./attempt-limits.ts";

const lifetimeDays = 30;
const touchEveryMilliseconds = 60_000;
const uuidForm = new RegExp(`^${uuidPattern}$`, "i");

export interface AdmissionOptions {
  database: Database;
  limits: AttemptLimits;
  /** That of the accounts, for tests alone. */
  passwordCost?: PasswordCost;
}

export function createAdmission({ database, limits, passwordCost }: AdmissionOptions): Admission {
  return {
    async signIn({ email, password, clientAddress, userAgent }) {
      const account = email.trim().toLowerCase();
      await limits.count({ account, clientAddress });
      const candidate = await database.transaction("nobody", (tx) => findSignInCandidate(tx, account));
      const matches = candidate
        ? await verifyPassword(password, candidate.passwordHash)
        : await verifyNothing(password, passwordCost);
      // A disabled person learns nothing that a stranger would not.
      if (!candidate || !matches || candidate.disabled) {
        throw new AppError("unauthenticated", "Email or password is wrong.");
      }
      await limits.forget({ account, clientAddress });
      const id = randomUUID();
      await database.transaction(candidate, (tx) =>
        tx.insert(authSessions).values({
          id,
          tenantId: candidate.tenantId,
          userId: candidate.userId,
          clientAddress,
          userAgent: userAgent.slice(0, 300),
          expiresAt: new Date(Date.now() + lifetimeDays * 86_400_000),
        }),
      );
      return id;
    },

    async findViewer(authSessionId) {
      if (!uuidForm.test(authSessionId)) return null;
      const row = await findViewerRow(database, authSessionId);
      if (!row) return null;
      const { seenAt, ...viewer } = row;
      if (Date.now() - seenAt.getTime() > touchEveryMilliseconds) {
        await database.transaction(viewer, (tx) =>
          tx.update(authSessions).set({ lastSeenAt: new Date() }).where(eq(authSessions.id, authSessionId)),
        );
      }
      return { ...viewer, authSessionId } satisfies Viewer;
    },

    async signOut(viewer) {
      await database.transaction(viewer, (tx) =>
        tx.update(authSessions).set({ revokedAt: new Date() }).where(eq(authSessions.id, viewer.authSessionId)),
      );
    },
  };
}
