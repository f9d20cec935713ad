import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { sandboxes, sessions, tenants } from "../../../db/schema/index.ts";
import { bundleSidecar } from "../../../scripts/lib/bundle-sidecar.mjs";
import { adminInput, createTestAccounts } from "../../accounts/test-accounts.ts";
import type { Actor } from "../../auth/index.ts";
import { createTestHome } from "../../sandboxes/backends/local/test/test-backend.ts";
import type { RunningSandbox, WakePhase } from "../index.ts";
import type { SandboxRecord } from "../lease.ts";
import { type Composition, compose, createTestSecretBox, projectRoot } from "./test-composition.ts";

export type TestServer = Awaited<ReturnType<typeof compose>>;

/** A person with sessions, on a real database, and servers that come and go around them. */
export async function createLifecycleTest() {
  const test = await createTestAccounts();
  await test.accounts.completeFirstRun({ ...adminInput, hostConsent: false });
  const { tenantId, userId, role } = await test.signIn(adminInput.email);
  const actor: Actor = { tenantId, userId, role };
  const { home, remove } = await createTestHome();
  const directory = await mkdtemp(join(tmpdir(), "dormouse-sidecar-"));
  const sidecar = join(directory, "sidecar.mjs");
  await writeFile(sidecar, (await bundleSidecar({ root: projectRoot })).code);
  const servers: TestServer[] = [];
  const shared = { applicationUrl: test.applicationUrl, home, sidecar };

  return {
    actor,
    shared,
    database: test.database,
    openToken: (sealed: string, sandboxId: string) => createTestSecretBox().open(sealed, `sandbox-token:${sandboxId}`),
    async startServer(changes: Omit<Composition, keyof typeof shared> = {}): Promise<TestServer> {
      const server = await compose({ ...shared, ...changes });
      servers.push(server);
      return server;
    },
    async createSession(): Promise<string> {
      const [row] = await test.database.transaction(actor, (tx) =>
        tx.insert(sessions).values({ tenantId, userId }).returning(),
      );
      return row?.id ?? "";
    },
    setHostConsent: (hostConsentAt: Date | null) =>
      test.database.transaction(actor, async (tx) => {
        await tx.update(tenants).set({ hostConsentAt }).where(eq(tenants.id, tenantId));
      }),
    readSandbox: (sandboxId: string): Promise<SandboxRecord | undefined> =>
      test.database.transaction(actor, async (tx) => {
        const [row] = await tx.select().from(sandboxes).where(eq(sandboxes.id, sandboxId));
        return row;
      }),
    async dispose() {
      for (const server of servers) await server.close({ terminate: true });
      await test[Symbol.asyncDispose]();
      await remove();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type LifecycleTest = Awaited<ReturnType<typeof createLifecycleTest>>;

/** The session's sandbox, running, and what was heard on the way. */
export async function ensure(
  { lifecycle }: TestServer,
  input: { actor: Actor; sessionId: string },
): Promise<RunningSandbox & { phases: WakePhase["phase"][] }> {
  const phases: WakePhase["phase"][] = [];
  const running = await lifecycle.ensureRunning({
    ...input,
    onPhase: async ({ phase }) => void phases.push(phase),
    signal: AbortSignal.timeout(60_000),
  });
  return { ...running, phases };
}
