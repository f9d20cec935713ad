import { resolve } from "node:path";
import { findImportProblems } from "./lib/import-problems.mjs";
import { findNameProblems } from "./lib/name-problems.mjs";

const root = resolve(import.meta.dirname, "..");
const problems = [...findImportProblems(root), ...findNameProblems(root)];
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
