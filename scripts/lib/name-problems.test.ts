import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findNameProblems } from "./name-problems.mjs";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "dormouse-names-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function problemsOf(files: readonly string[]): Promise<string[]> {
  for (const file of files) {
    await mkdir(join(root, dirname(file)), { recursive: true });
    await writeFile(join(root, file), "");
  }
  return findNameProblems(root);
}

describe("a file's name", () => {
  it.each([
    [["server/turns/queue.ts", "server/turns/queue.test.ts", "server/turns/queue.contract.ts"]],
    [["server/turns/index.ts", "server/agent/index.ts", "sidecar/main.ts", "bench/main.ts"]],
    [["app/admin/page.tsx", "app/settings/page.tsx", "app/admin/actions.ts", "app/settings/actions.ts"]],
    [["scripts/start.mjs", "server/boot/start.ts"]],
    [["server/turns/turns.test.ts", "bench/turns.ts"]],
    [["e2e/journeys/profile.spec.ts", "server/accounts/profile.ts", "e2e/boot/profile.test.ts"]],
  ])("may be that of %j", async (files) => {
    expect(await problemsOf(files)).toEqual([]);
  });

  it.each([
    [["server/agent/usage.ts", "server/turns/usage.ts"]],
    [["server/agent/usage.ts", "server/turns/usage.test.ts"]],
    [["server/snapshots/create-snapshots.ts", "sidecar/snapshots/create-snapshots.ts"]],
    [["components/session/memory.tsx", "scripts/lib/memory.mjs"]],
    [["app/lib/sse.ts", "server/lib/sse.ts"]],
  ])("may not be that of %j", async (files) => {
    expect(await problemsOf(files)).toEqual([expect.stringMatching(/^.+, .+: “.+” names different things$/)]);
  });
});
