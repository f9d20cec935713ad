import { eq, sql } from "drizzle-orm";
import { z } from "zod";
import type { Transaction } from "../../db/client.ts";
import { sandboxes, sessions } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { AwaySandbox } from "./index.ts";
import type { LifecycleContext } from "./lifecycle-context.ts";

const homeRow = z.object({
  home_id: z.string(),
  machine: z.string(),
  seen_at: z.coerce.date(),
  is_away: z.boolean(),
});

interface Home {
  id: string;
  machine: string;
  seenAt: Date;
  isAway: boolean;
}

type HomeContext = Pick<LifecycleContext, "database" | "backends" | "home" | "logger" | "deadlines">;

/**
 * Sandboxes whose files stand in a home can be reached by its server alone: that home is on their row. Each server
 * says every few seconds that it is there; a home of which nothing was heard for the length of a lease is away.
 */
export async function seeHomes({ database, home }: HomeContext): Promise<Home[]> {
  return database.transaction("nobody", async (tx) => {
    await tx.execute(sql`select see_home(${home.id}, ${home.machine})`);
    return listHomes(tx);
  });
}

/** Once, before the first look at sandboxes: what earlier versions made gets the home that has its files. */
export async function claimSandboxes(context: HomeContext, signal: AbortSignal): Promise<void> {
  const { database, backends, home } = context;
  for (const backend of backends.all) {
    if (!backend.inHome) continue;
    const held = (await backend.list(signal)).map(({ sandboxId }) => sandboxId);
    await database.transaction("nobody", (tx) =>
      tx.execute(sql`select claim_sandboxes(${home.id}, array[${backend.kind}], ${toArray(held)}::uuid[])`),
    );
  }
}

/** Somebody chose to go on elsewhere while this home was away: what is here of it ends, and its files are kept aside. */
export async function setAsideMoved(context: HomeContext, signal: AbortSignal): Promise<void> {
  const { database, backends, home, logger, deadlines } = context;
  for (const { inHome, list } of backends.all) {
    if (!inHome) continue;
    const held = (await list(signal)).map(({ sandboxId }) => sandboxId);
    if (held.length === 0) continue;
    const moved = await database.transaction("nobody", (tx) =>
      tx.execute<{ sandbox_id: string }>(
        sql`select sandbox_id from list_moved_sandboxes(${home.id}, ${toArray(held)}::uuid[])`,
      ),
    );
    for (const { sandbox_id: sandboxId } of moved) {
      signal.throwIfAborted();
      try {
        const left = await inHome.setAside(sandboxId, AbortSignal.timeout(deadlines.terminateMilliseconds));
        logger.warn(
          { sandboxId, left },
          "A sandbox goes on in another home: it was ended here, and its files set aside",
        );
      } catch (error) {
        logger.error({ err: error, sandboxId }, "A sandbox that goes on in another home could not be set aside");
      }
    }
  }
}

/**
 * The session's sandbox, with all of its sessions, goes on in this home, from its archives. Whoever held it before
 * writes nothing any more. False, and nothing changed, where it is here already; `conflict` while its own home is there.
 */
export async function continueHere(
  { database, home }: HomeContext,
  { actor, sessionId }: { actor: Actor; sessionId: string },
): Promise<boolean> {
  return database.transaction(actor, async (tx) => {
    const [row] = await tx
      .select({ sandbox: sandboxes })
      .from(sessions)
      .leftJoin(sandboxes, eq(sandboxes.id, sessions.sandboxId))
      .where(eq(sessions.id, sessionId));
    if (!row) throw new AppError("not-found", "There is no such session.");
    const elsewhere = row.sandbox && (await lockElsewhere(tx, home, row.sandbox.id));
    if (!elsewhere) return false;
    const { sandbox, from } = elsewhere;
    if (from && !from.isAway) {
      throw new AppError("conflict", `${from.machine} is back: the session goes on there.`);
    }
    await tx
      .update(sandboxes)
      .set({
        homeId: home.id,
        continuedAt: sql`now()`,
        leaseOwner: null,
        leaseExpiresAt: null,
        leaseEpoch: sql`${sandboxes.leaseEpoch} + 1`,
        observedState: "sleeping",
        wantedState: "sleeping",
        stateCause: null,
        bootId: null,
        bootSecretEncrypted: null,
        address: null,
        updatedAt: new Date(),
      })
      .where(eq(sandboxes.id, sandbox.id));
    const machine = from?.machine ?? "another machine";
    const doubt = `This session was on ${machine}, which was away, and continued on ${home.machine} from what was archived.`;
    await tx.execute(sql`
      update sessions set memory_doubt = ${doubt} where sandbox_id = ${sandbox.id} and agent_session_id is not null`);
    return true;
  });
}

/**
 * While the sandbox's home is away: nobody holds it, until that home takes it again. The epoch is for what is to be
 * written of it meanwhile. Null, and nothing changed, where its home is there, or it is this one's.
 */
export async function supersedeAway(
  { database, home }: HomeContext,
  { actor, sandboxId }: { actor: Actor; sandboxId: string },
): Promise<AwaySandbox | null> {
  return database.transaction(actor, async (tx) => {
    const elsewhere = await lockElsewhere(tx, home, sandboxId);
    if (!elsewhere || elsewhere.from?.isAway === false) return null;
    const leaseEpoch = elsewhere.sandbox.leaseEpoch + 1;
    await tx
      .update(sandboxes)
      .set({ leaseOwner: null, leaseExpiresAt: null, leaseEpoch })
      .where(eq(sandboxes.id, sandboxId));
    return { sandboxId, leaseEpoch, bootId: elsewhere.sandbox.bootId, machine: elsewhere.from?.machine ?? null };
  });
}

/** Null where it can be run from here. Its home is unknown where it was never seen. */
async function lockElsewhere(tx: Transaction, home: { id: string }, sandboxId: string) {
  const [sandbox] = await tx.select().from(sandboxes).where(eq(sandboxes.id, sandboxId)).for("no key update");
  if (!sandbox || sandbox.homeId === null || sandbox.homeId === home.id) return null;
  return { sandbox, from: (await listHomes(tx)).find(({ id }) => id === sandbox.homeId) };
}

/** All that were ever seen. */
export async function listHomes(tx: Transaction): Promise<Home[]> {
  const rows = await tx.execute(sql`select * from list_homes()`);
  return rows.map((row) => {
    const { home_id: id, machine, seen_at: seenAt, is_away: isAway } = homeRow.parse(row);
    return { id, machine, seenAt, isAway };
  });
}

/** As Postgres reads it; ids only. */
function toArray(ids: readonly string[]): string {
  return `{${ids.join(",")}}`;
}
