import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve, sep } from "node:path";

/**
 * Who may import whom, between the top folders and between the features of server/. Exact paths are
 * compared, which a lint rule on import strings cannot do.
 */
const mayImport = {
  app: ["app", "components", "server", "server/protocol"],
  components: ["components", "server/protocol"],
  server: ["server", "server/protocol", "db", "scripts"],
  "server/protocol": ["server/protocol"],
  db: ["db", "server/protocol"],
  sidecar: ["sidecar", "server/protocol"],
  e2e: ["e2e", "db", "server/boot", "server/protocol"],
  bench: ["bench", "sidecar", "server/protocol"],
  faults: ["faults"],
  scripts: ["scripts"],
};

// Tests, and what they are set up with, may look anywhere.
const isTest = (/** @type {string} */ path) =>
  /\.(test|contract)\.tsx?$|\/test-[^/]+\.ts$|^scripts\/vitest-[^/]+\.ts$|^faults\//.test(path);

/**
 * @param {string} root
 * @returns {string[]} one line for each import that the house does not allow
 */
export function findImportProblems(root) {
  const problems = [];
  for (const file of globSync(`{${Object.keys(mayImport).join(",")}}/**/*.{ts,tsx,mjs}`, { cwd: root }).sort()) {
    for (const { specifier, typeOnly } of importsOf(resolve(root, file))) {
      const target = resolveInside(file, specifier);
      const problem = target ? problemOf({ file, target, typeOnly }) : problemOfPackage(file, specifier);
      if (problem) problems.push(`${file}: ${problem}`);
    }
  }
  return problems;
}

/** @param {string} file */
export function* importsOf(file) {
  const source = readFileSync(file, "utf8");
  const pattern =
    /^\s*(?:import|export)\s(type\s)?[^"';]*?from\s*"([^"]+)"|^\s*import\s+"([^"]+)"|import\(\s*"([^"]+)"\s*\)/gm;
  for (const [, type, from, bare, dynamic] of source.matchAll(pattern)) {
    yield { specifier: from ?? bare ?? dynamic ?? "", typeOnly: type !== undefined };
  }
}

/**
 * @param {string} file
 * @param {string} specifier
 */
export function resolveInside(file, specifier) {
  if (specifier.startsWith("@/")) return specifier.slice(2);
  return specifier.startsWith(".") ? normalize(join(dirname(file), specifier)).replaceAll(sep, "/") : null;
}

/**
 * @param {string} path
 * @param {string} [from]
 */
function areaOf(path, from) {
  if (path.startsWith("server/protocol/")) return "server/protocol";
  // What starts and finds whole programs: e2e tests do the same.
  if (path.startsWith("server/boot/") && from === "e2e") return "server/boot";
  return path.split("/")[0] ?? "";
}

/** @param {{ file: string, target: string, typeOnly: boolean }} edge */
function problemOf({ file, target, typeOnly }) {
  const from = areaOf(file);
  const to = areaOf(target, from);
  const allowed = /** @type {Record<string, string[]>} */ (mayImport)[from] ?? [];
  if (!allowed.includes(to)) return isTest(file) ? null : `${from} may not import ${target}`;
  if (isTest(file)) return null;
  if (to === "scripts" && from === "server" && !file.startsWith("server/boot/") && file !== "server/main.ts") {
    return `only the boot may import ${target}`;
  }
  return typeOnly ? null : problemBetweenFeatures(file, target);
}

/**
 * A feature is a folder of server/ with an index.ts. wiring.ts, wire-*.ts and main.ts put them together and may look
 * inside. The guards of auth/ that need a request of Next are for app/ alone, so they are not in its index.ts.
 *
 * @param {string} file
 * @param {string} target
 */
function problemBetweenFeatures(file, target) {
  const open = ["server/lib/", "server/boot/", "server/protocol/"];
  const feature = /^server\/[^/]+\//.exec(target)?.[0];
  if (!feature || open.includes(feature) || file.startsWith(feature) || target === `${feature}index.ts`) return null;
  if (file.startsWith("app/") && feature === "server/auth/") return null;
  if (/^server\/(wiring|wire-[^/]+|main)\.ts$/.test(file) || file.startsWith("server/boot/")) return null;
  return `${target} is inside another feature: import ${feature}index.ts`;
}

/**
 * @param {string} file
 * @param {string} specifier
 */
function problemOfPackage(file, specifier) {
  const isNext = /^next(-auth)?(\/|$)/.test(specifier);
  if (!isNext || !/^(server|db|sidecar)\//.test(file) || isTest(file)) return null;
  if (file.startsWith("server/auth/") || file.startsWith("server/boot/") || file === "server/main.ts") return null;
  return `${specifier} belongs into app/, server/main.ts or server/auth/`;
}
