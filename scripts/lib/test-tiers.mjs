import { existsSync, globSync } from "node:fs";
import { resolve } from "node:path";
import { importsOf, resolveInside } from "./import-problems.mjs";

/**
 * A test belongs to the integration tier when it, or anything that it imports, starts whole programs: an agent, a
 * sandbox, a sidecar, a server. All others are fast. Nobody has to keep a list.
 */
export const starters = [
  "e2e/boot/run-dormouse.ts",
  "server/agent/test-agent.ts",
  "server/gateway/test-caller.ts",
  "server/sandboxes/backends/local/create-local-backend.ts",
  "server/turns/test-wiring.ts",
  "sidecar/test-sidecar.ts",
];

/**
 * @param {string} root
 * @returns {{ fast: string[], integration: string[] }} test files, from the root
 */
export function sortTests(root) {
  const files = globSync("{app,components,server,db,sidecar,scripts,e2e,faults}/**/*.test.{ts,tsx}", {
    cwd: root,
  }).sort();
  /** @type {Map<string, string[]>} */
  const known = new Map();
  const importsOfFile = (/** @type {string} */ file) => {
    const imports = known.get(file) ?? importedBy(root, file);
    known.set(file, imports);
    return imports;
  };
  const starts = (/** @type {string} */ test) => {
    // A set that grows while it is walked: imports may go round in circles.
    const reached = new Set([test]);
    for (const file of reached) for (const imported of importsOfFile(file)) reached.add(imported);
    return starters.some((starter) => reached.has(starter));
  };
  const integration = files.filter(starts);
  return { integration, fast: files.filter((file) => !integration.includes(file)) };
}

/**
 * @param {string} root
 * @param {string} file
 */
function importedBy(root, file) {
  const path = resolve(root, file);
  if (!/\.(ts|tsx|mjs)$/.test(file) || !existsSync(path)) return [];
  return [...importsOf(path)].flatMap(({ specifier, typeOnly }) => {
    const target = typeOnly ? null : resolveInside(file, specifier);
    return target ? [target] : [];
  });
}
