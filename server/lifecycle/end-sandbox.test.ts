import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SandboxBackend, toAddress } from "../sandboxes/sandbox-backend.ts";
import { endSandbox, type SandboxEnd } from "./end-sandbox.ts";
import { defaultDeadlines, type LifecycleContext } from "./lifecycle-context.ts";
import { createLeaseTest } from "./test/test-leases.ts";

let test: Awaited<ReturnType<typeof createLeaseTest>>;
beforeAll(async () => {
  test = await createLeaseTest();
});
afterAll(() => test?.dispose());

const address = toAddress({ port: 1 });
const changes = { observedState: "failed", stateCause: "It had to be." } as const;

/** A backend of which only the end is asked, on a row that says `running`. */
async function end(terminate: SandboxBackend["terminate"], input: Partial<SandboxEnd> & { superseded?: boolean } = {}) {
  const lease = await test.takeNew("running");
  const { superseded, ...more } = input;
  if (superseded) await test.supersede(lease.sandboxId);
  const context = { leases: test.leases, deadlines: defaultDeadlines } as LifecycleContext;
  const backend = { terminate } as SandboxBackend;
  const ending = endSandbox(context, { lease, backend, address, changes, ...more });
  const outcome = await ending.catch((error: Error) => error.message);
  return { outcome, row: await test.readSandbox(lease.sandboxId) };
}

describe("ending a sandbox", () => {
  it("gives the backend the real address, writes, and lets go of the lease last", async () => {
    const order: unknown[] = [];
    const { outcome, row } = await end(async (sandboxId, given) => void order.push(given, sandboxId), {
      andWrite: async () => void order.push("written"),
    });
    expect(outcome).toBe(true);
    expect(order).toEqual([address, row?.id, "written"]);
    expect(row).toMatchObject({ ...changes, leaseOwner: null });
  });

  it("does nothing once another server has taken over", async () => {
    let terminated = false;
    const { outcome, row } = await end(
      async () => {
        terminated = true;
      },
      { superseded: true },
    );
    expect([outcome, terminated]).toEqual([false, false]);
    expect(row).toMatchObject({ observedState: "running", leaseOwner: "another" });
  });

  it("leaves the row as it is, and the lease held, when it cannot be ended", async () => {
    const { outcome, row } = await end(() => Promise.reject(new Error("It does not end.")));
    expect(outcome).toBe("It does not end.");
    expect(row).toMatchObject({ observedState: "running", leaseOwner: expect.any(String) });
  });

  it("has no more patience than it is given", async () => {
    const impatient = AbortSignal.abort();
    const { outcome } = await end(async (_id, _address, signal) => expect(signal.aborted).toBe(true), {
      signal: impatient,
    });
    expect(outcome).toBe(true);
  });
});
