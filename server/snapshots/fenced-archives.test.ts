import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFileStore } from "../file-store/index.ts";
import { createLogger } from "../lib/logger.ts";
import { createTestLog, type TestLog } from "../sessions/test-log.ts";
import { type ArchiveContext, asHolder } from "./archive-context.ts";
import { deleteArchive, failArchive, insertArchive, setRestoreRequest } from "./archive-rows.ts";
import { noteMemory } from "./note-memory.ts";

let test_: TestLog;
let context: ArchiveContext;
beforeAll(async () => {
  test_ = await createTestLog();
  const fileStore = await createFileStore({ kind: "filesystem", root: "/nowhere" });
  context = { database: test_.database, fileStore, logger: createLogger("silent") };
});
afterAll(async () => {
  await test_[Symbol.asyncDispose]();
});

/** A sandbox whose lease has the epoch 1, with a snapshot that is being written. */
async function createSnapshotRow() {
  const { database, viewer: actor } = test_;
  const { sessionId, sandboxId } = await test_.begin();
  const id = randomUUID();
  const row = { kind: "workspace" as const, sessionId, id, storeKey: `key-${id}`, historyEpoch: 0 };
  const held = { actor, sandboxId, leaseEpoch: 1 };
  await insertArchive(database, held, row);
  await database.transaction(actor, (tx) =>
    tx.execute(sql`update sessions set sandbox_id = ${sandboxId}, agent_session_id = 'ses_1' where id = ${sessionId}`),
  );
  const read = () =>
    database.transaction(actor, async (tx) => ({
      archives: [...(await tx.execute(sql`select * from archives where sandbox_id = ${sandboxId} order by id`))],
      sessions: [...(await tx.execute(sql`select * from sessions where id = ${sessionId}`))],
    }));
  return { id, row, sessionId, held, superseded: { ...held, leaseEpoch: 0 }, read };
}

type SnapshotRow = Awaited<ReturnType<typeof createSnapshotRow>>;
type Holder = SnapshotRow["held"];

const writes: [string, (row: SnapshotRow, holder: Holder) => Promise<unknown>][] = [
  [
    "a new archive",
    ({ row }, holder) =>
      insertArchive(context.database, holder, { ...row, id: randomUUID(), storeKey: `key-${randomUUID()}` }),
  ],
  ["that an archive failed", ({ id }, holder) => failArchive(asHolder(context, holder), { id, cause: "late" })],
  ["that an archive is gone", ({ id }, holder) => deleteArchive(asHolder(context, holder), id)],
  [
    "that a restore is to be made",
    ({ id, sessionId }, holder) => setRestoreRequest(asHolder(context, holder), { sessionId, archiveId: id }),
  ],
  ["what became of the memory", (_row, holder) => noteMemory(context, holder, { status: "fresh", cause: "late" })],
];

describe("under a lease that was taken over", () => {
  test.each(writes)("%s is not written", async (_name, write) => {
    const row = await createSnapshotRow();
    const before = await row.read();
    await expect(write(row, row.superseded)).rejects.toMatchObject({ refusal: "lease-superseded" });
    expect(await row.read()).toEqual(before);
    await write(row, row.held);
    expect(await row.read()).not.toEqual(before);
  });
});
