import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { audit, sandboxes as sandboxTable, sessions } from "../../db/schema/index.ts";
import { adminInput, createTestAccounts, type TestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "../auth/index.ts";
import type { Lifecycle } from "../lifecycle/index.ts";
import type { SandboxState } from "../protocol/sandbox.ts";
import { createSandboxes } from "./create-sandboxes.ts";
import type { Sandboxes } from "./index.ts";

let accounts: TestAccounts;
let admin: Viewer;
let person: Viewer;
let sandboxes: Sandboxes;
let requested: unknown[];

beforeAll(async () => {
  accounts = await createTestAccounts();
  await accounts.accounts.completeFirstRun(adminInput);
  admin = await accounts.signIn(adminInput.email);
  person = await accounts.addPerson(admin, "bo@example.org");
});
beforeEach(() => {
  requested = [];
  const request: Lifecycle["request"] = async (_viewer, wanted) => {
    requested.push(wanted);
    return { id: "" } as Awaited<ReturnType<Lifecycle["request"]>>;
  };
  sandboxes = createSandboxes({ database: accounts.database, lifecycle: { request } });
});
afterAll(async () => {
  await accounts[Symbol.asyncDispose]();
});

async function makeSession(
  viewer: Viewer,
  state: SandboxState | null,
): Promise<{ sandboxId: string | null; id: string }> {
  const { tenantId, userId } = viewer;
  return accounts.database.transaction(viewer, async (tx) => {
    const privateSessionId = crypto.randomUUID();
    const [sandbox] = state
      ? await tx
          .insert(sandboxTable)
          .values({ tenantId, userId, backend: "local", isolation: "host", privateSessionId, observedState: state })
          .returning({ id: sandboxTable.id })
      : [];
    const sandboxId = sandbox?.id ?? null;
    const [session] = await tx.insert(sessions).values({ tenantId, userId, sandboxId }).returning({ id: sessions.id });
    return { sandboxId, id: session?.id ?? "" };
  });
}

describe("waking ahead of a message", () => {
  it.each(["sleeping", "failed"] as const)("asks for a wake of a sandbox that is %s", async (state) => {
    const { id, sandboxId } = await makeSession(person, state);
    await sandboxes.wakeAhead(person, id);
    expect(requested).toEqual([{ sandboxId, verb: "wake", reason: "needed" }]);
  });

  it.each(["running", "provisioning", "terminated", null] as const)(
    "asks for nothing where it is %s",
    async (state) => {
      await sandboxes.wakeAhead(person, (await makeSession(person, state)).id);
      expect(requested).toEqual([]);
    },
  );

  it("knows no session of anybody else, not even for an admin", async () => {
    const { id } = await makeSession(person, "sleeping");
    await expect(sandboxes.wakeAhead(admin, id)).rejects.toMatchObject({ kind: "not-found" });
    await expect(sandboxes.wakeAhead(person, "nonsense")).rejects.toMatchObject({ kind: "not-found" });
    expect(requested).toEqual([]);
  });
});

describe("the tenant's idle limit", () => {
  it("is chosen by admins, recorded, and holds for whoever chose nothing else", async () => {
    const { sandboxId } = await makeSession(person, "running");
    expect(await sandboxes.idleLimit(person)).toBe(60);
    await sandboxes.setIdleLimit(admin, 20);
    expect(await sandboxes.idleLimit(person)).toBe(20);
    const idleOf = async () => (await sandboxes.list(person, "own")).find(({ id }) => id === sandboxId)?.idle;
    expect(await idleOf()).toEqual({ minutes: 20, own: false });
    await sandboxes.configure(person, { scope: "own", sandboxId: sandboxId ?? "", idleMinutes: 0 });
    expect(await idleOf()).toEqual({ minutes: 0, own: true });
    const entries = await accounts.database.transaction(admin, (tx) =>
      tx.select({ detail: audit.detail }).from(audit).where(eq(audit.action, "idle-limit-choose")),
    );
    expect(entries).toEqual([{ detail: { minutes: 20 } }]);
  });

  it("is refused to others, and where it makes no sense", async () => {
    await expect(sandboxes.setIdleLimit(person, 20)).rejects.toMatchObject({ kind: "forbidden" });
    for (const minutes of [-1, 1.5, 10 ** 9, Number.NaN]) {
      await expect(sandboxes.setIdleLimit(admin, minutes), String(minutes)).rejects.toMatchObject({
        kind: "invalid-input",
      });
    }
  });
});

describe("keeping a sandbox awake", () => {
  it("is for a time within the next days", async () => {
    const sandboxId = (await makeSession(person, "running")).sandboxId ?? "";
    const keep = (keepAwakeUntil: Date | null) =>
      sandboxes.configure(person, { scope: "own", sandboxId, keepAwakeUntil });
    const soon = new Date(Date.now() + 3_600_000);
    await keep(soon);
    expect((await sandboxes.list(person, "own")).find(({ id }) => id === sandboxId)?.keepAwakeUntil).toEqual(soon);
    for (const time of [-8.64e15, 0, 8.64e15, Number.NaN]) {
      await expect(keep(new Date(time)), String(time)).rejects.toMatchObject({ kind: "invalid-input" });
    }
    await keep(null);
    expect((await sandboxes.list(person, "own")).find(({ id }) => id === sandboxId)?.keepAwakeUntil).toBeNull();
  });
});
