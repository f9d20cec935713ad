import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { sandboxes } from "../../../db/schema/index.ts";
import { adminInput, createTestAccounts } from "../../accounts/test-accounts.ts";
import type { Actor } from "../../auth/index.ts";
import type { SandboxState } from "../../protocol/sandbox.ts";
import { createLeases } from "../lease.ts";

/** One sandbox's row on a real database, with nothing that runs. */
export async function createLeaseTest() {
  const test = await createTestAccounts();
  await test.accounts.completeFirstRun(adminInput);
  const { tenantId, userId, role } = await test.signIn(adminInput.email);
  const actor: Actor = { tenantId, userId, role };
  const { database } = test;
  const leases = createLeases({ database, instance: randomUUID(), homeId: null, home: "here" });
  return {
    actor,
    database,
    ownerUrl: test.ownerUrl,
    leases,
    /** A new sandbox in this state, under a lease of ours. */
    async takeNew(observedState: SandboxState) {
      const values = { tenantId, userId, backend: "test", isolation: "test", privateSessionId: randomUUID() };
      const [row] = await database.transaction(actor, (tx) =>
        tx
          .insert(sandboxes)
          .values({ ...values, observedState })
          .returning(),
      );
      const taken = await leases.take(actor, row?.id ?? "");
      if (!taken) throw new Error("The lease was not to be had.");
      return taken.lease;
    },
    async readSandbox(sandboxId: string) {
      const [row] = await database.transaction(actor, (tx) =>
        tx.select().from(sandboxes).where(eq(sandboxes.id, sandboxId)),
      );
      return row;
    },
    /** Another server took it. */
    supersede: (sandboxId: string) =>
      database.transaction(actor, async (tx) => {
        await tx.update(sandboxes).set({ leaseOwner: "another", leaseEpoch: 99 }).where(eq(sandboxes.id, sandboxId));
      }),
    dispose: () => test[Symbol.asyncDispose](),
  };
}
