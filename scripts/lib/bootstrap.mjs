import { fileURLToPath } from "node:url";
import { findNode } from "./find-node.mjs";
import { installIfNeeded } from "./install.mjs";
import { createSteps } from "./steps.mjs";

/** What every script needs on a fresh clone, with whatever Node the machine has: packages and Node 24. */
export async function bootstrap() {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const steps = createSteps();
  await installIfNeeded({ root, steps });
  return { root, steps, node: findNode(root) };
}
