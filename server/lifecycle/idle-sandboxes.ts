import { sql } from "drizzle-orm";
import { z } from "zod";
import { sandboxId, tenantId, userId } from "../protocol/ids.ts";
import type { LifecycleContext } from "./lifecycle-context.ts";

const asked = z.object({ sandbox_id: sandboxId, tenant_id: tenantId, user_id: userId });
/** At a time: the rest is found the next time. */
const most = 50;

/** Asks for the sleep of what nobody uses, whoever holds it. Several servers may do so at once. */
export async function requestIdleSleeps({ database, deadlines }: Pick<LifecycleContext, "database" | "deadlines">) {
  const within = `${deadlines.requestMilliseconds} milliseconds`;
  const rows = await database.transaction("nobody", (tx) =>
    tx.execute(sql`select * from request_idle_sleeps(${most}, ${within}::interval)`),
  );
  return rows.map((row) => {
    const { sandbox_id, tenant_id, user_id } = asked.parse(row);
    return { sandboxId: sandbox_id, tenantId: tenant_id, userId: user_id };
  });
}
