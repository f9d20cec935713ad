import { join, resolve } from "node:path";
import { expect } from "vitest";
import { listen } from "../../../boot/listen.ts";
import { parseConfig } from "../../../config.ts";
import { type BackendUnderTest, describeSandboxBackend } from "../../sandbox-backend.contract.ts";
import { createSandboxListener } from "../../sandbox-listener.ts";
import { ask, commandSidecar, countSidecars, createSpec, run, testRequests } from "../../test/test-sandbox.ts";
import { findPrograms } from "../local/find-programs.ts";
import { createTestHome } from "../local/test/test-backend.ts";
import { createProcessBackend } from "./create-process-backend.ts";

describeSandboxBackend("reached by address", createReached);

async function createReached(): Promise<BackendUnderTest> {
  const { home, remove } = await createTestHome();
  const listener = createSandboxListener({
    requests: testRequests,
    isSandbox: async ({ authorization }) => authorization?.startsWith("Bearer token-") ?? false,
    onError: () => {},
  });
  const { url } = await listen({ server: listener.server, host: "127.0.0.1", port: { kind: "fixed", port: 0 } });
  const programs = findPrograms(resolve(import.meta.dirname, "../../../.."), { sidecar: commandSidecar });
  const create = () => createProcessBackend({ home, programs, searchPath: parseConfig().searchPath, serverUrl: url });
  const backend = create();
  return {
    backend,
    createSpec: (sandboxId) => createSpec("plain-process", sandboxId),
    bootBehind: async (door) => JSON.parse(await ask(door, "/health")).bootId,
    callServer: (door) => ask(door, "/server", "/anything"),
    callEgress: (door) => ask(door, "/egress", "example.org:443"),
    writeInside: async (door, content) => expect((await run(door, `printf ${content} > kept`)).code).toBe(0),
    readInside: async (door) => (await run(door, "cat kept")).output,
    crash: async (door) => void (await run(door, "kill -9 $PPID")),
    countSidecars: async (sandboxId) => countSidecars(join(home, "processes", sandboxId, "workspace")),
    createSuccessor: async () => create(),
    async dispose() {
      await backend.close();
      await listener.close();
      await remove();
    },
  };
}
