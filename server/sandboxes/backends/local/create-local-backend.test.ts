import { expect } from "vitest";
import { type BackendUnderTest, describeSandboxBackend } from "../../sandbox-backend.contract.ts";
import { ask, countSidecars, createSpec, run } from "../../test/test-sandbox.ts";
import type { LocalIsolation } from "./local-isolations.ts";
import { createSandboxPaths } from "./sandbox-paths.ts";
import { createTestBackend, createTestHome } from "./test/test-backend.ts";

for (const isolation of ["sandboxed", "host"] as const) {
  describeSandboxBackend(`local, ${isolation}`, () => createLocal(isolation));
}

async function createLocal(isolation: LocalIsolation): Promise<BackendUnderTest> {
  const { home, remove } = await createTestHome();
  const backend = createTestBackend(home);
  return {
    backend,
    createSpec: (sandboxId) => createSpec(isolation, sandboxId),
    bootBehind: async (door) => JSON.parse(await ask(door, "/health")).bootId,
    callServer: (door) => ask(door, "/server", "/anything"),
    callEgress: (door) => ask(door, "/egress", "example.org:443"),
    writeInside: async (door, content) => expect((await run(door, `printf ${content} > kept`)).code).toBe(0),
    readInside: async (door) => (await run(door, "cat kept")).output,
    crash: async (door) => void (await run(door, "kill -9 $PPID")),
    countSidecars: async (sandboxId) => countSidecars((await createSandboxPaths(home).of(sandboxId)).workspace),
    createSuccessor: async () => createTestBackend(home),
    async dispose() {
      await backend.close();
      await remove();
    },
  };
}
