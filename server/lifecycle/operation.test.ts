import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "../../db/schema/index.ts";
import { type LifecycleVerb, lifecycleVerbs, type OperationPhase } from "../protocol/lifecycle-verbs.ts";
import type { Lease } from "./lease.ts";
import { beginOperation } from "./operation.ts";
import { createLeaseTest } from "./test/test-leases.ts";

let test: Awaited<ReturnType<typeof createLeaseTest>>;
beforeAll(async () => {
  test = await createLeaseTest();
});
afterAll(() => test?.dispose());

const verbs = Object.keys(lifecycleVerbs) as LifecycleVerb[];
const begin = <Verb extends LifecycleVerb>(lease: Lease, verb: Verb) =>
  beginOperation(test.leases, lease, { verb, reason: "asked", deadlineMilliseconds: 1_000 });
const read = (sandboxId: string) =>
  test.database.transaction(test.actor, (tx) =>
    tx.select().from(operations).where(eq(operations.sandboxId, sandboxId)).orderBy(operations.startedAt),
  );

describe("an operation", () => {
  it.each(verbs)("of the verb %s goes through its phases, and the database knows them all", async (verb) => {
    const lease = await test.takeNew("running");
    const operation = await begin(lease, verb);
    const { phases } = lifecycleVerbs[verb];
    expect(await read(lease.sandboxId)).toMatchObject([{ verb, phase: phases[0], state: "running" }]);
    for (const phase of phases) await operation.phase(phase);
    await operation.succeed();
    expect(await read(lease.sandboxId)).toMatchObject([{ verb, phase: phases.at(-1), state: "succeeded" }]);
  });

  it("has no phase of another verb, and none that nobody knows", async () => {
    const operation = await begin(await test.takeNew("running"), "wake");
    for (const phase of ["quiescing", "dreaming"]) {
      await expect(operation.phase(phase as OperationPhase<"wake">)).rejects.toMatchObject({
        cause: { constraint_name: "operations_verb_phase" },
      });
    }
  });

  it("fails what an interrupted predecessor left running", async () => {
    const lease = await test.takeNew("running");
    await begin(lease, "wake");
    await begin(lease, "wake");
    const [earlier, later] = await read(lease.sandboxId);
    expect(earlier).toMatchObject({ state: "failed", cause: "The server that ran it stopped." });
    expect(later).toMatchObject({ state: "running", cause: null });
  });

  it("is written by the holder of the lease alone", async () => {
    const lease = await test.takeNew("running");
    const operation = await begin(lease, "wake");
    await test.supersede(lease.sandboxId);
    await expect(operation.succeed()).rejects.toMatchObject({ kind: "conflict" });
    await expect(begin(lease, "wake")).rejects.toMatchObject({ kind: "conflict" });
    expect(await read(lease.sandboxId)).toMatchObject([{ state: "running" }]);
  });
});
