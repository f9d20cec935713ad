import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import { archives, operations, sandboxes, sessions, tenants, users } from "../../db/schema/index.ts";
import { recordAudit } from "../audit/index.ts";
import { requireRole, type Viewer } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import { type Lifecycle, listHomes } from "../lifecycle/index.ts";
import { sandboxId as idSchema, sessionId as sessionIdSchema } from "../protocol/ids.ts";
import { maxIdleMinutes, maxKeepAwakeHours } from "../protocol/limits.ts";
import type { OperationView, SandboxView } from "../protocol/sandbox-views.ts";
import type { Sandboxes, SandboxScope } from "./index.ts";

const maxRows = 1_000;

export function createSandboxes({
  database,
  lifecycle,
}: {
  database: Database;
  lifecycle: Pick<Lifecycle, "request">;
}): Sandboxes {
  /** Within reach of the viewer; row-level security alone would let an admin act on others' as on their own. */
  async function requireSandbox(tx: Transaction, viewer: Viewer, { scope, sandboxId }: InScope): Promise<void> {
    const known = idSchema.safeParse(sandboxId).success
      ? await tx
          .select({ id: sandboxes.id })
          .from(sandboxes)
          .where(and(eq(sandboxes.id, sandboxId), inScope(viewer, scope)))
      : [];
    if (known.length === 0) throw new AppError("not-found", "There is no such sandbox.");
  }

  async function readOperation(tx: Transaction, operationId: string, sandboxId: string): Promise<OperationView> {
    const [row] = await tx
      .select({ operation: operations, name: users.name })
      .from(operations)
      .leftJoin(users, eq(users.id, operations.requestedBy))
      .where(and(eq(operations.id, operationId), eq(operations.sandboxId, sandboxId)));
    if (!row) throw new AppError("not-found", "There is no such operation.");
    return toView(row.operation, row.name);
  }

  return {
    list(viewer, scope) {
      requireScope(viewer, scope);
      return database.transaction(viewer, (tx) => readSandboxes(tx, viewer, scope));
    },
    async request(viewer, { scope, sandboxId, verb, options = {} }) {
      requireScope(viewer, scope);
      await database.transaction(viewer, (tx) => requireSandbox(tx, viewer, { scope, sandboxId }));
      const { id } = await lifecycle.request(viewer, { sandboxId, verb, options });
      return database.transaction(viewer, async (tx) => {
        await recordAudit(tx, viewer, { action: `sandbox.${verb}`, subject: sandboxId, detail: { ...options } });
        return readOperation(tx, id, sandboxId);
      });
    },
    async operation(viewer, { scope, sandboxId, operationId }) {
      requireScope(viewer, scope);
      return database.transaction(viewer, async (tx) => {
        await requireSandbox(tx, viewer, { scope, sandboxId });
        if (!idSchema.safeParse(operationId).success) throw new AppError("not-found", "There is no such operation.");
        return readOperation(tx, operationId, sandboxId);
      });
    },
    async configure(viewer, { scope, sandboxId, idleMinutes, keepAwakeUntil }) {
      requireScope(viewer, scope);
      requireTimes({ idleMinutes, keepAwakeUntil });
      const changes = {
        ...(idleMinutes !== undefined && { idleMinutes }),
        ...(keepAwakeUntil !== undefined && { keepAwakeUntil }),
      };
      await database.transaction(viewer, async (tx) => {
        await requireSandbox(tx, viewer, { scope, sandboxId });
        if (Object.keys(changes).length === 0) return;
        await tx
          .update(sandboxes)
          .set({ ...changes, updatedAt: new Date() })
          .where(eq(sandboxes.id, sandboxId));
        await recordAudit(tx, viewer, { action: "sandbox.configure", subject: sandboxId, detail: { ...changes } });
      });
    },
    async wakeAhead(viewer, sessionId) {
      const [found] = sessionIdSchema.safeParse(sessionId).success
        ? await database.transaction(viewer, (tx) =>
            tx
              .select({ sandboxId: sandboxes.id, state: sandboxes.observedState })
              .from(sessions)
              .leftJoin(sandboxes, eq(sandboxes.id, sessions.sandboxId))
              .where(eq(sessions.id, sessionId)),
          )
        : [];
      if (!found) throw new AppError("not-found", "There is no such session.");
      const { sandboxId, state } = found;
      if (sandboxId === null || (state !== "sleeping" && state !== "failed")) return;
      await lifecycle.request(viewer, { sandboxId, verb: "wake", reason: "needed" });
    },
    async idleLimit(viewer) {
      const [row] = await database.transaction(viewer, (tx) =>
        tx.select({ minutes: tenants.idleMinutes }).from(tenants).where(eq(tenants.id, viewer.tenantId)),
      );
      if (!row) throw new AppError("not-found", "There is no such organisation.");
      return row.minutes;
    },
    async setIdleLimit(viewer, minutes) {
      requireRole(viewer, "admin");
      requireTimes({ idleMinutes: minutes });
      await database.transaction(viewer, async (tx) => {
        await tx.update(tenants).set({ idleMinutes: minutes }).where(eq(tenants.id, viewer.tenantId));
        await recordAudit(tx, viewer, { action: "idle-limit-choose", detail: { minutes } });
      });
    },
  };
}

interface InScope {
  scope: SandboxScope;
  sandboxId: string;
}

function requireScope(viewer: Viewer, scope: SandboxScope): void {
  if (scope === "tenant") requireRole(viewer, "admin");
}

function inScope(viewer: Viewer, scope: SandboxScope): SQL | undefined {
  return scope === "own" ? eq(sandboxes.userId, viewer.userId) : undefined;
}

function requireTimes({
  idleMinutes,
  keepAwakeUntil,
}: {
  idleMinutes?: number | null | undefined;
  keepAwakeUntil?: Date | null | undefined;
}): void {
  const minutes = idleMinutes ?? 0;
  if (!Number.isInteger(minutes) || minutes < 0 || minutes > maxIdleMinutes) {
    throw new AppError("invalid-input", `Choose between 1 minute and ${maxIdleMinutes / 1440} days, or never.`);
  }
  const ahead = keepAwakeUntil ? keepAwakeUntil.getTime() - Date.now() : 1;
  if (!(ahead > 0 && ahead <= maxKeepAwakeHours * 3_600_000)) {
    throw new AppError("invalid-input", `Choose a time within the next ${maxKeepAwakeHours / 24} days.`);
  }
}

async function readSandboxes(tx: Transaction, viewer: Viewer, scope: SandboxScope): Promise<SandboxView[]> {
  const counts = await tx.execute(sql`select sandbox_id as id, sessions from count_sessions()`);
  const sessionsBySandbox = new Map(counts.map((row) => [String(row.id), Number(row.sessions)]));
  const homesById = new Map((await listHomes(tx)).map((home) => [home.id, home]));
  const lasts = await tx
    .selectDistinctOn([operations.sandboxId], { operation: operations, name: users.name })
    .from(operations)
    .innerJoin(sandboxes, eq(sandboxes.id, operations.sandboxId))
    .leftJoin(users, eq(users.id, operations.requestedBy))
    .where(inScope(viewer, scope))
    .orderBy(operations.sandboxId, sql`${operations.endedAt} is null desc`, sql`${operations.requestedAt} desc`);
  const lastById = new Map(lasts.map(({ operation, name }) => [operation.sandboxId, toView(operation, name)]));
  const saved = await tx
    .select({ sandboxId: archives.sandboxId, at: sql<string | Date | null>`max(${archives.createdAt})` })
    .from(archives)
    .innerJoin(sandboxes, eq(sandboxes.id, archives.sandboxId))
    .where(
      and(
        eq(archives.kind, "history"),
        eq(archives.state, "verified"),
        eq(archives.historyEpoch, sandboxes.historyEpoch),
        inScope(viewer, scope),
      ),
    )
    .groupBy(archives.sandboxId);
  const savedById = new Map(saved.map(({ sandboxId, at }) => [sandboxId, at ? new Date(at) : null]));
  const homeOf = (id: string | null): SandboxView["home"] => {
    if (id === null) return null;
    const { machine, seenAt, isAway } = homesById.get(id) ?? { machine: null, seenAt: null, isAway: true };
    return { machine, seenAt, isAway };
  };
  const rows = await tx
    .select({ sandbox: sandboxes, name: users.name, email: users.email, tenantMinutes: tenants.idleMinutes })
    .from(sandboxes)
    .innerJoin(users, eq(users.id, sandboxes.userId))
    .innerJoin(tenants, eq(tenants.id, sandboxes.tenantId))
    .where(inScope(viewer, scope))
    .orderBy(asc(users.name), asc(sandboxes.createdAt))
    .limit(maxRows);
  return rows.map(({ sandbox: row, name, email, tenantMinutes }) => ({
    id: row.id,
    personName: name,
    personEmail: email,
    backend: row.backend,
    isolation: row.isolation,
    state: row.observedState,
    wantedState: row.wantedState,
    cause: row.stateCause,
    home: homeOf(row.homeId),
    sessionCount: sessionsBySandbox.get(row.id) ?? 0,
    lastActiveAt: row.lastActiveAt,
    createdAt: row.createdAt,
    savedAt: savedById.get(row.id) ?? null,
    unsavedSince: row.unsavedSince,
    idle: { minutes: row.idleMinutes ?? tenantMinutes, own: row.idleMinutes !== null },
    keepAwakeUntil: row.keepAwakeUntil,
    noSleepBefore: row.noSleepBefore,
    operation: lastById.get(row.id) ?? null,
  }));
}

function toView(row: typeof operations.$inferSelect, requestedBy: string | null): OperationView {
  const { id, verb, state, phase, cause, reason, options, phases, requestedAt, startedAt, deadlineAt, endedAt } = row;
  return {
    id,
    verb,
    state,
    phase,
    cause,
    reason,
    requestedBy,
    options,
    phases,
    requestedAt,
    startedAt,
    deadlineAt,
    endedAt,
  };
}
