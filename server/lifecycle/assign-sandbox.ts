import { and, eq, isNull, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import { sandboxes, sessions, tenants } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { Isolation } from "../sandboxes/sandbox-backend.ts";
import type { SandboxBackends } from "../sandboxes/sandbox-backends.ts";

export interface AssignInput {
  database: Database;
  backends: SandboxBackends;
  /** Of this server. */
  home: { id: string };
  actor: Actor;
  sessionId: string;
  signal: AbortSignal;
}

/**
 * The sandbox of a session, chosen and fixed at its first use (ARCHITECTURE.md, invariant 16). Throws `not-found` for a
 * session that is unknown or another person's, `unavailable` when its isolation cannot be given any more.
 */
export async function assignSandbox(input: AssignInput): Promise<string> {
  const { database, backends, home, actor, sessionId, signal } = input;
  const { preferred } = backends;
  // Asked before, since no transaction may wait for a backend.
  const offered = await preferred.isolations(signal);
  const { consent, ...assigned } = await database.transaction(actor, async (tx) => {
    const [found] = await tx
      .select({ isolation: sessions.isolation, consentAt: tenants.hostConsentAt, sandbox: sandboxes })
      .from(sessions)
      .innerJoin(tenants, eq(tenants.id, sessions.tenantId))
      .leftJoin(sandboxes, eq(sandboxes.id, sessions.sandboxId))
      .where(eq(sessions.id, sessionId))
      .for("no key update", { of: sessions });
    if (!found) throw new AppError("not-found", "There is no such session.");
    const { sandbox } = found;
    const consent = found.consentAt !== null;
    if (sandbox) return { sandboxId: sandbox.id, backend: sandbox.backend, isolation: sandbox.isolation, consent };
    const isolation = found.isolation ?? strongest(offered);
    requireAvailable(offered, { isolation, consent });
    const sandboxId = await ensureRow(tx, actor, {
      backend: preferred.kind,
      isolation,
      homeId: preferred.inHome ? home.id : null,
    });
    await tx.update(sessions).set({ sandboxId, isolation }).where(eq(sessions.id, sessionId));
    return { sandboxId, backend: preferred.kind, isolation, consent };
  });
  const backend = backends.require(assigned.backend);
  requireAvailable(backend === preferred ? offered : await backend.isolations(signal), { ...assigned, consent });
  return assigned.sandboxId;
}

function strongest(offered: readonly Isolation[]): string {
  const best = offered.find(({ available }) => available) ?? offered[0];
  if (!best) throw notAvailable("No sandbox can run here at the moment.");
  return best.name;
}

function requireAvailable(
  offered: readonly Isolation[],
  { isolation: name, consent }: { isolation: string; consent: boolean },
): void {
  const isolation = offered.find((offer) => offer.name === name);
  if (!isolation?.available) {
    throw notAvailable(
      isolation?.confined === false
        ? "This session runs without isolation, which is no longer allowed here. Your message is kept; ask an admin."
        : "This session needs isolation, which this machine can no longer provide. Your message is kept; an admin can see the cause.",
    );
  }
  if (isolation.confined || consent) return;
  throw notAvailable(
    "This machine cannot isolate the agent, and no admin has agreed to run it without isolation. Ask an admin.",
  );
}

/** Somebody has to do something about it: waiting does not help. */
function notAvailable(message: string): AppError {
  return new AppError("unavailable", message, { code: "isolation-unavailable" });
}

/** The person's sandbox in this home; also one that was brought here from another. */
async function ensureRow(
  tx: Transaction,
  actor: Actor,
  key: { backend: string; isolation: string; homeId: string | null },
): Promise<string> {
  const { tenantId, userId } = actor;
  const find = async () => {
    const [row] = await tx
      .select({ id: sandboxes.id })
      .from(sandboxes)
      .where(
        and(
          eq(sandboxes.userId, userId),
          eq(sandboxes.backend, key.backend),
          eq(sandboxes.isolation, key.isolation),
          isNull(sandboxes.privateSessionId),
          key.homeId === null ? isNull(sandboxes.homeId) : eq(sandboxes.homeId, key.homeId),
        ),
      )
      .orderBy(sql`${sandboxes.continuedAt} nulls first`)
      .limit(1);
    return row?.id ?? null;
  };
  const known = await find();
  if (known) return known;
  await tx
    .insert(sandboxes)
    .values({ tenantId, userId, ...key })
    .onConflictDoNothing();
  const made = await find();
  if (!made) throw new Error("The sandbox was not stored.");
  return made;
}
