import { asc, eq, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { sandboxes, users } from "../../db/schema/index.ts";
import { requireRole } from "../auth/index.ts";
import type { Sandboxes } from "./index.ts";

export function createSandboxes({ database }: { database: Database }): Sandboxes {
  return {
    async list(viewer) {
      requireRole(viewer, "admin");
      return database.transaction(viewer, async (tx) => {
        const counts = await tx.execute(sql`select sandbox_id as id, sessions from count_sessions()`);
        const sessionsBySandbox = new Map(counts.map((row) => [String(row.id), Number(row.sessions)]));
        const homes = await tx.execute(sql`select * from list_homes()`);
        const homesById = new Map(homes.map((row) => [String(row.home_id), row]));
        const homeOf = (id: string | null) => {
          if (id === null) return null;
          const known = homesById.get(id);
          if (!known) return { machine: null, seenAt: null, isAway: true };
          return {
            machine: String(known.machine),
            seenAt: new Date(known.seen_at as string | Date),
            isAway: known.is_away === true,
          };
        };
        const rows = await tx
          .select({ sandbox: sandboxes, name: users.name, email: users.email })
          .from(sandboxes)
          .innerJoin(users, eq(users.id, sandboxes.userId))
          .orderBy(asc(users.name), asc(sandboxes.createdAt))
          .limit(1_000);
        return rows.map(({ sandbox: row, name, email }) => ({
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
        }));
      });
    },
  };
}
