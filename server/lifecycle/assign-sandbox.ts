import { and, eq, isNull } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import { sandboxes, sessions, tenants } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { SandboxBackend, SandboxIsolation } from "../sandboxes/sandbox-backend.ts";

export interface AssignOptions {
  database: Database;
  backend: SandboxBackend["kind"];
  /** The strongest that this machine was proved to give. */
  strongest: SandboxIsolation;
}

/**
 * The sandbox of a session, chosen and fixed at its first use (invariant 16). Throws `not-found` for a
 * session that is unknown or another person's, `unavailable` when its isolation cannot be given any more.
 */
export function assignSandbox(options: AssignOptions, actor: Actor, sessionId: string): Promise<string> {
  const { database, backend, strongest } = options;
  return database.transaction(actor, async (tx) => {
    const [session] = await tx.select().from(sessions).where(eq(sessions.id, sessionId)).for("no key update");
    if (!session) throw new AppError("not-found", "There is no such session.");
    const isolation = toIsolation(session.isolation) ?? strongest;
    await requireAvailable(tx, { isolation, strongest });
    if (session.sandboxId) {
      const [assigned] = await tx.select().from(sandboxes).where(eq(sandboxes.id, session.sandboxId));
      if (assigned && assigned.backend !== backend) {
        throw new AppError(
          "unavailable",
          `This session's sandbox runs on ${assigned.backend}, which is not set up here.`,
        );
      }
      if (assigned) return assigned.id;
    }
    const sandboxId = await ensureRow(tx, actor, { backend, isolation });
    await tx.update(sessions).set({ sandboxId, isolation }).where(eq(sessions.id, sessionId));
    return sandboxId;
  });
}

function toIsolation(value: string | null): SandboxIsolation | null {
  return value === "sandboxed" || value === "host" ? value : null;
}

async function requireAvailable(
  tx: Transaction,
  { isolation, strongest }: { isolation: SandboxIsolation; strongest: SandboxIsolation },
): Promise<void> {
  if (isolation === "sandboxed") {
    if (strongest === "sandboxed") return;
    throw new AppError(
      "unavailable",
      "This session needs isolation, which this machine can no longer provide. Your message is kept; an admin can see the cause.",
    );
  }
  const [tenant] = await tx.select({ consent: tenants.hostConsentAt }).from(tenants);
  if (tenant?.consent) return;
  throw new AppError(
    "unavailable",
    "This machine cannot isolate the agent, and no admin has agreed to run it without isolation. Ask an admin.",
  );
}

async function ensureRow(
  tx: Transaction,
  actor: Actor,
  key: { backend: SandboxBackend["kind"]; isolation: SandboxIsolation },
): Promise<string> {
  const { tenantId, userId } = actor;
  await tx
    .insert(sandboxes)
    .values({ tenantId, userId, ...key })
    .onConflictDoNothing();
  const [row] = await tx
    .select({ id: sandboxes.id })
    .from(sandboxes)
    .where(
      and(
        eq(sandboxes.userId, userId),
        eq(sandboxes.backend, key.backend),
        eq(sandboxes.isolation, key.isolation),
        isNull(sandboxes.privateSessionId),
      ),
    );
  if (!row) throw new Error("The sandbox was not stored.");
  return row.id;
}
