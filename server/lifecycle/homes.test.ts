import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLogger } from "../lib/logger.ts";
import type { SandboxBackend } from "../sandboxes/sandbox-backend.ts";
import { createSandboxBackends } from "../sandboxes/sandbox-backends.ts";
import { claimSandboxes, seeHomes, setAsideMoved, supersedeAway } from "./homes.ts";
import { createLeases } from "./lease.ts";
import { defaultDeadlines } from "./lifecycle-context.ts";
import { createLeaseTest } from "./test/test-leases.ts";

type LeaseTest = Awaited<ReturnType<typeof createLeaseTest>>;

let test: LeaseTest;
let owner: postgres.Sql;
beforeAll(async () => {
  test = await createLeaseTest();
  owner = postgres(test.ownerUrl, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await owner.end();
  await test.dispose();
});

/** A server with a home that holds the files of these sandboxes. */
function createHome(held: string[], id = randomUUID()) {
  const aside: string[] = [];
  const backend = {
    kind: "local",
    inHome: {
      async setAside(sandboxId: string) {
        aside.push(sandboxId);
        return "/left";
      },
    },
    list: async () => held.map((sandboxId) => ({ sandboxId, running: false, address: {} })),
  } as unknown as SandboxBackend;
  const context = {
    database: test.database,
    backends: createSandboxBackends([backend]),
    home: { id, machine: `machine of ${id.slice(0, 4)}` },
    logger: createLogger("silent"),
    deadlines: defaultDeadlines,
  };
  return { id, aside, context };
}

/** As an earlier version left it. */
async function makeSandbox(values: { homeId: string | null; hasRun: boolean }): Promise<string> {
  const { tenantId, userId } = test.actor;
  const [row] = await owner<{ id: string }[]>`
    insert into sandboxes (tenant_id, user_id, backend, isolation, private_session_id, home_id, boot_id)
    values (${tenantId}, ${userId}, 'local', 'host', ${randomUUID()}, ${values.homeId},
      ${values.hasRun ? randomUUID() : null}) returning id`;
  return row?.id ?? "";
}

const homeOf = async (sandboxId: string) => (await test.readSandbox(sandboxId))?.homeId;
const signal = AbortSignal.timeout(60_000);

describe("sandboxes that were made before homes were recorded", () => {
  it("become those of the home that has their files", async () => {
    const here = await makeSandbox({ homeId: "unknown", hasRun: true });
    const elsewhere = await makeSandbox({ homeId: "unknown", hasRun: true });
    const known = await makeSandbox({ homeId: "other", hasRun: true });
    const never = await makeSandbox({ homeId: null, hasRun: false });
    const home = createHome([here, known]);
    await claimSandboxes(home.context, signal);
    expect(await Promise.all([here, elsewhere, known, never].map(homeOf))).toEqual([
      home.id,
      "unknown",
      "other",
      home.id,
    ]);
    const second = createHome([elsewhere, here]);
    await claimSandboxes(second.context, signal);
    expect(await Promise.all([here, elsewhere].map(homeOf))).toEqual([home.id, second.id]);
  });

  it("are not to be had before", async () => {
    const sandboxId = await makeSandbox({ homeId: "unknown", hasRun: true });
    expect(await test.leases.take(test.actor, sandboxId)).toBeNull();
  });
});

describe("homes", () => {
  it("are away once nothing was heard of them for a while, and back with the next word", async () => {
    const [one, two] = [createHome([]), createHome([])];
    await seeHomes(one.context);
    await owner`update homes set seen_at = now() - interval '16 seconds' where id = ${one.id}`;
    const seen = async () => new Map((await seeHomes(two.context)).map(({ id, isAway }) => [id, isAway]));
    expect((await seen()).get(one.id)).toBe(true);
    await seeHomes(one.context);
    expect((await seen()).get(one.id)).toBe(false);
  });

  it("set aside what goes on in another one, and nothing else", async () => {
    const id = randomUUID();
    const [own, moved, unknown] = [
      await makeSandbox({ homeId: id, hasRun: true }),
      await makeSandbox({ homeId: randomUUID(), hasRun: true }),
      await makeSandbox({ homeId: "unknown", hasRun: true }),
    ];
    const home = createHome([own, moved, unknown, randomUUID()], id);
    await setAsideMoved(home.context, signal);
    expect(home.aside).toEqual([moved]);
  });
});

describe("a sandbox whose home is away", () => {
  it("is nobody's until that home takes it again", async () => {
    const [home, other] = [createHome([]), createHome([])];
    await seeHomes(home.context);
    const sandboxId = await makeSandbox({ homeId: home.id, hasRun: true });
    const { database, actor } = test;
    const leases = createLeases({ database, instance: randomUUID(), homeId: null, home: home.id });
    const supersede = ({ context }: typeof home) => supersedeAway(context, { actor, sandboxId });
    const taken = await leases.take(actor, sandboxId);
    if (!taken) throw new Error("The lease was not to be had.");
    // While it is there, nobody but itself takes it.
    expect(await supersede(other)).toBeNull();
    expect(await leases.renew(taken.lease)).toBe(true);
    await owner`update homes set seen_at = now() - interval '16 seconds' where id = ${home.id}`;
    expect(await supersede(home)).toBeNull();
    expect(await supersede(other)).toEqual({
      sandboxId,
      leaseEpoch: taken.lease.epoch + 1,
      bootId: taken.row.bootId,
      machine: home.context.home.machine,
    });
    // Had it only been cut off, it writes nothing of what it was about to, and begins anew.
    expect(await leases.renew(taken.lease)).toBe(false);
    await expect(leases.write(taken.lease, async () => {})).rejects.toMatchObject({ refusal: "lease-superseded" });
    const again = await leases.take(actor, sandboxId, { onlyLapsed: true });
    expect(again?.lease.epoch).toBe(taken.lease.epoch + 2);
  });
});
