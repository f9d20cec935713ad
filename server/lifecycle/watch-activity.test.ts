import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sandboxes } from "../../db/schema/index.ts";
import type { SandboxActivity } from "../protocol/sidecar.ts";
import { defaultDeadlines, type HeldSandbox, type LifecycleContext } from "./lifecycle-context.ts";
import { createLeaseTest } from "./test/test-leases.ts";
import { watchActivity } from "./watch-activity.ts";

let test: Awaited<ReturnType<typeof createLeaseTest>>;
beforeAll(async () => {
  test = await createLeaseTest();
});
afterAll(() => test?.dispose());

const hour = 3_600_000;
const quiet: SandboxActivity = { since: null, processes: [], more: 0, ports: [], lastFileChangeAt: null };
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const program = (use: { cpuMilliseconds?: number; writtenBytes?: number }) => ({
  pid: 7,
  command: "npm run build",
  cpuMilliseconds: 0,
  writtenBytes: 0,
  startedAt: minutesAgo(60).toISOString(),
  ...use,
});

/** What the row says after a look, of a sandbox that was used so long ago. */
async function look(activity: Partial<SandboxActivity>, lastActiveAt = new Date(Date.now() - hour)) {
  const lease = await test.takeNew("running");
  await test.database.transaction(test.actor, (tx) =>
    tx.update(sandboxes).set({ lastActiveAt }).where(eq(sandboxes.id, lease.sandboxId)),
  );
  const context = { leases: test.leases, deadlines: defaultDeadlines } as LifecycleContext;
  const held = {
    lease,
    lost: new AbortController(),
    isOutdated: false,
    sleep: null,
    sidecar: { activity: async () => ({ ...quiet, ...activity }) },
  } as unknown as HeldSandbox;
  await watchActivity(context, held, new AbortController().signal);
  const row = await test.readSandbox(lease.sandboxId);
  return { staysAwake: (row?.noSleepBefore?.getTime() ?? 0) > Date.now(), lastActiveAt: row?.lastActiveAt };
}

describe("what goes on in a sandbox", () => {
  it.each([
    ["a twentieth of a core", { cpuMilliseconds: 16_000 }, true],
    ["less than that", { cpuMilliseconds: 14_000 }, false],
    ["a megabyte", { writtenBytes: 1024 * 1024 }, true],
    ["less than that", { writtenBytes: 1024 }, false],
  ])("keeps it awake where a program used %s in five minutes: %o", async (_what, use, staysAwake) => {
    const since = minutesAgo(5).toISOString();
    expect(await look({ since, processes: [program(use)] })).toMatchObject({ staysAwake });
  });

  it("is not known at the first look", async () => {
    expect(await look({ processes: [program({ cpuMilliseconds: hour })] })).toMatchObject({ staysAwake: false });
  });

  it("does not count for ever", async () => {
    const since = minutesAgo(5).toISOString();
    const processes = [program({ cpuMilliseconds: 300_000 })];
    expect(await look({ since, processes }, minutesAgo(11 * 60))).toMatchObject({ staysAwake: true });
    expect(await look({ since, processes }, minutesAgo(13 * 60))).toMatchObject({ staysAwake: false });
  });

  it("is no server that only listens", async () => {
    const since = minutesAgo(5).toISOString();
    expect(await look({ since, processes: [program({})], ports: [3000] })).toMatchObject({ staysAwake: false });
  });

  it("counts as use where a file changed, though not in the future", async () => {
    const changed = minutesAgo(3);
    expect((await look({ lastFileChangeAt: changed.toISOString() })).lastActiveAt).toEqual(changed);
    const future = new Date(Date.now() + 100 * hour).toISOString();
    expect((await look({ lastFileChangeAt: future })).lastActiveAt?.getTime()).toBeLessThan(Date.now() + hour);
    const before = minutesAgo(60);
    expect((await look({ lastFileChangeAt: minutesAgo(90).toISOString() }, before)).lastActiveAt).toEqual(before);
  });
});
