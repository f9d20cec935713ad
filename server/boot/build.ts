import { resolve } from "node:path";
import { createSteps } from "../../scripts/lib/steps.mjs";
import { isBootError } from "./boot-error.ts";
import { buildCatalogue } from "./build-catalogue.ts";
import { buildIfNeeded } from "./build-if-needed.ts";
import { buildSidecar } from "./build-sidecar.ts";

/** `npm run build`: what a start does by itself, for images and tests. */
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupted.abort());
const steps = createSteps();
const root = resolve(import.meta.dirname, "../..");
try {
  await buildSidecar(root);
  const { signal } = interrupted;
  await Promise.all([
    buildIfNeeded({
      root,
      signal,
      step: (work) => steps.run({ doing: "Building the pages", done: "Built the pages" }, work),
    }),
    buildCatalogue({
      root,
      signal,
      step: (work) => steps.run({ doing: "Reading model prices", done: "Read model prices" }, work),
    }),
  ]);
} catch (error) {
  console.error(isBootError(error) ? error.message : error);
  process.exitCode = 1;
}
