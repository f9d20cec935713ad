import { and, eq, gt, sql } from "drizzle-orm";
import { sandboxes, sessions, turns } from "../../db/schema/index.ts";
import { isAppError, isRefused } from "../errors.ts";
import { causes } from "../protocol/causes.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { endSandbox } from "./end-sandbox.ts";
import { type Lease, renewWhile, type SandboxRecord, superseded } from "./lease.ts";
import { type LifecycleContext, toOwned } from "./lifecycle-context.ts";
import { beginOperation } from "./operation.ts";

/** In every log: what came before it is never given back to an agent. */
const boundary = "The sandbox was reset. The agent starts anew here and remembers nothing from before.";
const boundaryWithFiles =
  "The sandbox was reset, files included. The agent starts anew here and remembers nothing from before.";

/**
 * Start fresh (ARCHITECTURE.md, invariant 12): nothing of the agent's memory comes back from here on, not even by an
 * archive that is just being made. Every step may be done again. When the durable memory cannot be removed, or the
 * sandbox not ended, the operation fails and the observed state stays; the memory is gone all the same. The caller
 * has let go of the sandbox; its lease is let go of in any case.
 */
export async function resetSandbox(
  context: LifecycleContext,
  reset: { lease: Lease; row: SandboxRecord; sidecar: SidecarClient | null; signal: AbortSignal },
): Promise<void> {
  const { leases, deadlines, archives, logger, backends } = context;
  const { lease, row, sidecar, signal } = reset;
  const { recoveryArchiveMilliseconds, resetMilliseconds, terminateMilliseconds } = deadlines;
  await renewWhile(context, lease, async () => {
    const operation = await beginOperation(leases, lease, {
      verb: "reset",
      reason: "asked",
      deadlineMilliseconds: recoveryArchiveMilliseconds + resetMilliseconds + terminateMilliseconds,
    });
    const { files = false } = operation.options;
    try {
      await forget(context, lease, { files });
      await operation.phase("archiving");
      if (sidecar && !files) {
        const patience = AbortSignal.any([signal, AbortSignal.timeout(recoveryArchiveMilliseconds)]);
        const owned = toOwned({ lease, sidecar, configHash: null }, patience);
        await archives.archiveSandbox(owned, { only: "workspace", signal: patience }).catch((error: unknown) => {
          signal.throwIfAborted();
          logger.warn({ err: error, sandboxId: row.id }, "Files could not be archived before a reset");
        });
      }
      await operation.phase("deleting");
      const late = AbortSignal.any([signal, AbortSignal.timeout(resetMilliseconds)]);
      const { sandboxId, actor } = lease;
      await archives
        .forget({ actor, sandboxId, leaseEpoch: lease.epoch, files, signal: late })
        .catch((error: unknown) => {
          // Nothing runs that could use it, and a later epoch never restores it: a later reset, or the sweep, removes it.
          if (row.observedState !== "terminated" || isRefused(error)) throw error;
          logger.warn({ err: error, sandboxId }, "The archives of a sandbox that was reset could not be removed");
        });
      await operation.phase("terminating");
      const changes = {
        wantedState: "terminated",
        observedState: "terminated",
        stateCause: null,
        unsavedSince: null,
      } as const;
      const ended = await endSandbox(context, {
        lease,
        backend: backends.require(row.backend),
        address: row.address,
        changes,
        andWrite: () => operation.succeed(),
      });
      if (!ended) logger.warn({ sandboxId }, "Another server took over a sandbox while it was being reset");
    } catch (error) {
      if (isRefused(error, "lease-superseded")) return;
      // Left as it is, for the next holder to go on with.
      if (signal.aborted) return leases.release(lease);
      logger.warn({ err: error, sandboxId: row.id }, "A sandbox could not be reset");
      await operation.fail(isAppError(error) ? error.message : causes.internal.message);
      await leases.release(lease);
    }
  });
}

/** From this write on nothing of the old memory can come back. Sessions before the sandbox, as everywhere. */
function forget({ database }: LifecycleContext, lease: Lease, { files }: { files: boolean }): Promise<void> {
  const { sandboxId, epoch, actor } = lease;
  const note = JSON.stringify({ status: "fresh", message: files ? boundaryWithFiles : boundary });
  return database.transaction(actor, async (tx) => {
    const cleared = await tx
      .update(sessions)
      .set({
        agentSessionId: null,
        memoryStatus: "fresh",
        memoryCause: files ? boundaryWithFiles : boundary,
        memoryDoubt: null,
        memoryAt: sql`now()`,
        lastNumber: sql`last_number + 1`,
        version: sql`version + 1`,
      })
      .where(and(eq(sessions.sandboxId, sandboxId), gt(sessions.lastNumber, 0)))
      .returning({ id: sessions.id, number: sessions.lastNumber, version: sessions.version });
    const changes = {
      historyEpoch: sql`${sandboxes.historyEpoch} + 1`,
      ...(files && { filesEpoch: sql`${sandboxes.filesEpoch} + 1` }),
    };
    const held = await tx
      .update(sandboxes)
      .set(changes)
      .where(sql`${sandboxes.id} = ${sandboxId} and ${sandboxes.leaseEpoch} = ${epoch}`)
      .returning({ id: sandboxes.id });
    if (held.length === 0) throw superseded();
    for (const { id, number, version } of cleared) {
      await tx.execute(sql`
        insert into log_entries (session_id, number, version, tenant_id, user_id, kind, open, body)
        values (${id}, ${number}, ${version}, ${actor.tenantId}, ${actor.userId}, 'memory-note', false, ${note}::jsonb)`);
      // Nothing from before can be taken back from an agent that does not know it.
      await tx.update(turns).set({ agentMessageId: null }).where(sql`session_id = ${id} and ended_at is not null`);
      await tx.execute(
        sql`select pg_notify('dormouse_log', concat_ws(' ', ${id}::text, ${version}::text, '', 'state'))`,
      );
    }
  });
}
