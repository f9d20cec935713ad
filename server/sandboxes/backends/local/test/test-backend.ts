import { chmod, mkdtemp, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { parseConfig } from "../../../../config.ts";
import { commandSidecar, testRequests } from "../../../test/test-sandbox.ts";
import { createLocalBackend, type LocalBackendOptions } from "../create-local-backend.ts";
import { findBubblewrap } from "../find-bubblewrap.ts";
import type { IsolationProof } from "../prove-isolation.ts";

const root = resolve(import.meta.dirname, "../../../../..");
const { searchPath } = parseConfig();

/** A home that goes with the test, where other users of the machine can enter, as when root starts us. */
export async function createTestHome(): Promise<{ home: string; remove(): Promise<void> }> {
  const home = await mkdtemp("/tmp/dm-");
  await chmod(home, 0o711);
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
}

/** Without the trial, which has tests of its own. */
export async function findIsolation(): Promise<IsolationProof> {
  const found = await findBubblewrap(searchPath, AbortSignal.timeout(10_000));
  return "reason" in found ? found : { bubblewrap: found, detail: "not tried" };
}

export function createTestBackend(home: string, changes: Partial<LocalBackendOptions> = {}) {
  return createLocalBackend({
    home,
    root,
    isolation: "auto",
    searchPath,
    programs: { sidecar: commandSidecar },
    proveIsolation: findIsolation,
    requests: testRequests,
    ...changes,
  });
}
