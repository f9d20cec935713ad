import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../db/test-database.ts";
import { createFileStoreClaim } from "./claim-file-store.ts";
import { createFilesystemStore } from "./stores/filesystem.ts";

let test: TestDatabase;
let directory: string;
beforeEach(async () => {
  test = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "dormouse-claim-"));
});
afterEach(async () => {
  await test[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

/** What a start does. */
const claim = async (input: { root?: string; installation?: string; acceptNew?: boolean } = {}) => {
  const owner = createFileStoreClaim({
    database: test.database,
    fileStore: createFilesystemStore({ root: join(directory, input.root ?? "store") }),
    installation: input.installation ?? "ours",
    acceptNew: input.acceptNew ?? false,
    signal: AbortSignal.timeout(5_000),
  });
  const found = await owner.look();
  if (found === "unclaimed") await owner.claim();
  return found;
};

describe("the claim of a file store", () => {
  it("is made once, and known again", async () => {
    expect(await claim()).toBe("unclaimed");
    expect(await claim()).toBe("ours");
  });

  it("is made by all replicas that start at once, and refuses none of them", async () => {
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim()));
    expect(claims.every((one) => one === "unclaimed" || one === "ours")).toBe(true);
    expect(await claim()).toBe("ours");
  });

  it("is missed in a store that is not there any more, until a new one is accepted", async () => {
    await claim();
    await rename(join(directory, "store"), join(directory, "away"));
    expect(await claim()).toBe("missing");
    expect(await claim()).toBe("missing");
    expect(await claim({ acceptNew: true })).toBe("unclaimed");
    expect(await claim()).toBe("ours");
    expect(await claim({ root: "away" })).toBe("ours");
  });

  it("is not made over that of another installation", async () => {
    await claim();
    expect(await claim({ installation: "other" })).toBe("another");
    expect(await claim()).toBe("ours");
  });

  it("is not remembered of a store that cannot be written", async () => {
    await writeFile(join(directory, "file"), "");
    await expect(claim({ root: "file" })).rejects.toMatchObject({ kind: "unavailable" });
    expect(await claim()).toBe("unclaimed");
  });
});
