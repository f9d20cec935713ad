import { and, eq, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import { sandboxes } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { SandboxState } from "../protocol/sandbox.ts";
import { mayBecome } from "../sandboxes/index.ts";

export type SandboxRecord = typeof sandboxes.$inferSelect;

/** The right to run one sandbox. Every write under it carries the epoch and fails once it is superseded. */
export interface Lease {
  readonly sandboxId: string;
  readonly actor: Actor;
  readonly epoch: number;
}

export interface Leases {
  /** Of this process, or of a predecessor with the same home, which cannot be alive. */
  isOwn(leaseOwner: string): boolean;
  /**
   * Null while another server holds it, and for a sandbox of another home. The epoch is raised: whoever held it before
   * writes nothing any more.
   * `onlyLapsed`: also null while this process or a predecessor holds it.
   */
  take(
    actor: Actor,
    sandboxId: string,
    options?: { onlyLapsed: boolean },
  ): Promise<{ lease: Lease; row: SandboxRecord } | null>;
  /** False once superseded. */
  renew(lease: Lease): Promise<boolean>;
  /** The sandbox is being used. Throws `conflict` when the lease is superseded. */
  markActive(lease: Lease): Promise<void>;
  /** Idempotent; changes nothing once superseded. */
  release(lease: Lease): Promise<void>;
  /** In a transaction as the sandbox's person; throws `conflict` when the lease is superseded. */
  write<Result>(lease: Lease, work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /** As `write`, for the row itself. Throws when the table of states does not allow the change. */
  update(lease: Lease, changes: SandboxChanges): Promise<void>;
}

export type SandboxChanges = Partial<
  Pick<
    SandboxRecord,
    | "wantedState"
    | "observedState"
    | "stateCause"
    | "bootId"
    | "bootSecretEncrypted"
    | "tokenEncrypted"
    | "address"
    | "agentConfigHash"
    | "lastActiveAt"
    | "unsavedSince"
    | "noSleepBefore"
  >
>;

export const leaseSeconds = 15;

/**
 * `homeId` names the home whose lock this process holds: leases of earlier processes with that home are
 * taken over at once, since none of them can be alive. All others must lapse first.
 */
export function createLeases(options: {
  database: Database;
  instance: string;
  homeId: string | null;
  /** The home whose sandboxes can be reached from here, beside those that any server can reach. */
  home: string;
}): Leases {
  const { database, instance, homeId, home } = options;
  const owner = homeId === null ? instance : `${homeId}/${instance}`;
  const expiry = sql`now() + make_interval(secs => ${leaseSeconds})`;
  const own = ({ sandboxId, epoch }: Lease) =>
    and(eq(sandboxes.id, sandboxId), eq(sandboxes.leaseOwner, owner), eq(sandboxes.leaseEpoch, epoch));

  const write: Leases["write"] = (lease, work) =>
    database.transaction(lease.actor, async (tx) => {
      await lockRow(tx, lease);
      return work(tx);
    });

  async function lockRow(tx: Transaction, lease: Lease): Promise<SandboxState> {
    const [row] = await tx
      .select({ state: sandboxes.observedState })
      .from(sandboxes)
      .where(own(lease))
      .for("no key update");
    if (!row) throw superseded();
    return row.state;
  }

  return {
    isOwn: (leaseOwner) => leaseOwner === owner || (homeId !== null && leaseOwner.startsWith(`${homeId}/`)),
    async take(actor, sandboxId, { onlyLapsed } = { onlyLapsed: false }) {
      const predecessor = homeId === null ? sql`false` : sql`starts_with(${sandboxes.leaseOwner}, ${`${homeId}/`})`;
      const ours = onlyLapsed ? sql`false` : sql`${sandboxes.leaseOwner} = ${owner} or ${predecessor}`;
      const [row] = await database.transaction(actor, (tx) =>
        tx
          .update(sandboxes)
          .set({ leaseOwner: owner, leaseEpoch: sql`${sandboxes.leaseEpoch} + 1`, leaseExpiresAt: expiry })
          .where(
            sql`${sandboxes.id} = ${sandboxId} and (${sandboxes.homeId} is null or ${sandboxes.homeId} = ${home})
              and (${sandboxes.leaseOwner} is null or ${sandboxes.leaseExpiresAt} < now() or ${ours})`,
          )
          .returning(),
      );
      return row ? { lease: { sandboxId, actor, epoch: row.leaseEpoch }, row } : null;
    },
    async renew(lease) {
      const rows = await database.transaction(lease.actor, (tx) =>
        tx.update(sandboxes).set({ leaseExpiresAt: expiry }).where(own(lease)).returning({ id: sandboxes.id }),
      );
      return rows.length > 0;
    },
    async markActive(lease) {
      const { sandboxId, epoch, actor } = lease;
      const [row] = await database.call<{ touched: boolean }>(
        "select touch_sandbox($1::uuid, $2::uuid, $3::uuid, $4, $5::bigint) as touched",
        [actor.tenantId, actor.userId, sandboxId, owner, epoch],
        { repeatable: true },
      );
      if (!row?.touched) throw superseded();
    },
    async release(lease) {
      await database.transaction(lease.actor, (tx) =>
        tx.update(sandboxes).set({ leaseOwner: null, leaseExpiresAt: null }).where(own(lease)),
      );
    },
    write,
    update: (lease, changes) =>
      database.transaction(lease.actor, async (tx) => {
        const from = await lockRow(tx, lease);
        const to = changes.observedState ?? from;
        if (from !== to && !mayBecome(from, to)) throw new Error(`A sandbox cannot become ${to} when it is ${from}.`);
        await tx
          .update(sandboxes)
          .set({ ...changes, updatedAt: new Date() })
          .where(own(lease));
        if (from !== to || changes.stateCause !== undefined) await tellViewers(tx, lease.sandboxId);
      }),
  };
}

/** Pages of its sessions show its state. */
async function tellViewers(tx: Transaction, sandboxId: string): Promise<void> {
  await tx.execute(sql`
    select pg_notify('dormouse_log', concat_ws(' ', id::text, version::text, '', 'touch'))
    from sessions where sandbox_id = ${sandboxId}`);
}

/** For work that may take longer than a lease lasts, on a sandbox that is not held yet. */
export async function renewWhile<Result>(
  { leases, deadlines }: { leases: Leases; deadlines: { renewEveryMilliseconds: number } },
  lease: Lease,
  work: () => Promise<Result>,
): Promise<Result> {
  const renewing = setInterval(() => void leases.renew(lease).catch(() => {}), deadlines.renewEveryMilliseconds);
  try {
    return await work();
  } finally {
    clearInterval(renewing);
  }
}

export function superseded(): AppError {
  return new AppError("conflict", "Another server has taken over this sandbox.", { refusal: "lease-superseded" });
}
