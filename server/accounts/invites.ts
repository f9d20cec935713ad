import { createHash, randomBytes } from "node:crypto";
import { and, desc, eq, isNull, sql } from "drizzle-orm";
import { z } from "zod";
import { errorCode } from "../../db/database-problem.ts";
import { invites } from "../../db/schema/index.ts";
import { recordAudit } from "../audit/index.ts";
import { requireRole } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import { parseInput } from "../lib/parse-input.ts";
import { hashPassword } from "../lib/password-hash.ts";
import type { Invite } from "../protocol/account-views.ts";
import { inviteId } from "../protocol/ids.ts";
import { maxInviteNoteLength } from "../protocol/limits.ts";
import { roles } from "../protocol/roles.ts";
import { person } from "./account-input.ts";
import type { AccountsOptions } from "./create-accounts.ts";
import type { Accounts } from "./index.ts";

const lifetimeDays = 7;
const uniqueViolation = "23505";
const inviteInput = z.object({
  role: z.enum(roles, "The role must be admin or user."),
  note: z.string().trim().max(maxInviteNoteLength, `A note can have at most ${maxInviteNoteLength} characters.`),
});

type InviteMethods = "createInvite" | "listInvites" | "revokeInvite" | "findInvite" | "acceptInvite";

export function createInvites({
  database,
  limits,
  publicUrl,
  passwordCost,
}: AccountsOptions): Pick<Accounts, InviteMethods> {
  const findInvite: Accounts["findInvite"] = async (token) => {
    const rows = await database.transaction("nobody", (tx) =>
      tx.execute(sql`select tenant_name as "tenantName", role, state from find_invite(${hashToken(token)})`),
    );
    return (rows[0] as Awaited<ReturnType<Accounts["findInvite"]>> | undefined) ?? null;
  };

  return {
    findInvite,

    async createInvite(viewer, input) {
      requireRole(viewer, "admin");
      const { role, note } = parseInput(inviteInput, input);
      const token = randomBytes(24).toString("base64url");
      const row = await database.transaction(viewer, async (tx) => {
        const [created] = await tx
          .insert(invites)
          .values({
            tenantId: viewer.tenantId,
            createdBy: viewer.userId,
            role,
            note,
            tokenHash: hashToken(token),
            expiresAt: new Date(Date.now() + lifetimeDays * 86_400_000),
          })
          .returning();
        if (!created) throw new Error("The invite was not stored.");
        await recordAudit(tx, viewer, { action: "invite-create", subject: created.id, detail: { role } });
        return created;
      });
      return { url: `${publicUrl}/invite/${token}`, invite: toInvite(row) };
    },

    async listInvites(viewer) {
      requireRole(viewer, "admin");
      const rows = await database.transaction(viewer, (tx) =>
        tx.select().from(invites).orderBy(desc(invites.createdAt)).limit(200),
      );
      return rows.map(toInvite);
    },

    async revokeInvite(viewer, id) {
      requireRole(viewer, "admin");
      const wanted = parseInput(inviteId, id);
      await database.transaction(viewer, async (tx) => {
        const revoked = await tx
          .update(invites)
          .set({ revokedAt: new Date() })
          .where(and(eq(invites.id, wanted), isNull(invites.usedAt), isNull(invites.revokedAt)))
          .returning({ id: invites.id });
        if (revoked.length === 0) throw new AppError("not-found", "This invite is no longer open.");
        await recordAudit(tx, viewer, { action: "invite-revoke", subject: wanted });
      });
    },

    async acceptInvite({ token, clientAddress, ...input }) {
      const { name, email, password } = parseInput(person, input);
      await limits.count({ account: `invite ${hashToken(token)}`, clientAddress });
      const found = await findInvite(token);
      if (!found) throw new AppError("not-found", "This invite does not exist. Check the link, or ask for a new one.");
      if (found.state !== "open") throw usedUp(found.state);
      const hash = await hashPassword(password, passwordCost);
      try {
        const rows = await database.transaction("nobody", (tx) =>
          tx.execute(sql`select accept_invite(${hashToken(token)}, ${name}, ${email}, ${hash}) as person`),
        );
        if (!rows[0]?.person) throw usedUp("used");
      } catch (error) {
        if (errorCode(error) !== uniqueViolation) throw error;
        throw new AppError("conflict", "An account with that email address already exists.", { cause: error });
      }
    },
  };
}

function usedUp(state: Exclude<Invite["state"], "open">): AppError {
  const what = { used: "was already used", expired: "has expired", revoked: "was revoked" }[state];
  return new AppError("conflict", `This invite ${what}. Ask an admin for a new one.`);
}

function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}

function toInvite(row: typeof invites.$inferSelect): Invite {
  const { id, role, note, createdAt, expiresAt } = row;
  const state = row.usedAt ? "used" : row.revokedAt ? "revoked" : expiresAt <= new Date() ? "expired" : "open";
  return { id, role, note, createdAt, expiresAt, state };
}
