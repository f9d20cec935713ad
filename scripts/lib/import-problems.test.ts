import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findImportProblems } from "./import-problems.mjs";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "dormouse-imports-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function problemsOf(file: string, line: string): Promise<string[]> {
  await mkdir(join(root, dirname(file)), { recursive: true });
  await writeFile(join(root, file), `${line}\n`);
  return findImportProblems(root);
}

describe("the import arrows", () => {
  it.each([
    ["app/page.tsx", 'import { requireUser } from "@/server/auth/require-user.ts";'],
    ["components/ui/button.tsx", 'import type { Role } from "@/server/protocol/roles.ts";'],
    ["server/models/create-models.ts", 'import { recordAudit } from "../audit/index.ts";'],
    ["server/models/create-models.ts", 'import type { Actor } from "../auth/actor.ts";'],
    ["server/models/create-models.test.ts", 'import { recordAudit } from "../audit/record-audit.ts";'],
    ["server/wiring.ts", 'import { createModels } from "./models/create-models.ts";'],
    ["server/boot/start.ts", 'import { createSteps } from "../../scripts/lib/steps.mjs";'],
    ["sidecar/main.ts", 'import { call } from "../server/protocol/calls.ts";'],
    ["scripts/vitest-postgres.ts", 'import { start } from "../server/boot/embedded-postgres.ts";'],
    ["e2e/fixtures/database.ts", 'import { createDatabase } from "../../db/client.ts";'],
  ])("allow in %s: %s", async (file, line) => {
    expect(await problemsOf(file, line)).toEqual([]);
  });

  it.each([
    ["components/ui/button.tsx", 'import { services } from "@/server/services.ts";'],
    ["components/ui/button.tsx", 'import type { Row } from "@/db/schema/index.ts";'],
    ["server/models/create-models.ts", 'import { recordAudit } from "../audit/record-audit.ts";'],
    ["server/models/create-models.ts", 'export * from "../../app/page.tsx";'],
    ["server/models/create-models.ts", 'import { headers } from "next/headers";'],
    ["server/models/create-models.ts", 'const steps = await import("../../scripts/lib/steps.mjs");'],
    ["server/protocol/calls.ts", 'import { AppError } from "../errors.ts";'],
    ["db/client.ts", 'import { AppError } from "../server/errors.ts";'],
    ["sidecar/main.ts", 'import type { Config } from "../server/config.ts";'],
    ["scripts/start.mjs", 'import "../server/main.ts";'],
    ["e2e/sign-in.spec.ts", 'import { createSteps } from "../scripts/lib/steps.mjs";'],
  ])("refuse in %s: %s", async (file, line) => {
    expect(await problemsOf(file, line)).toEqual([expect.stringContaining(`${file}: `)]);
  });
});
