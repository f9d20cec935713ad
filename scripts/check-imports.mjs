import { resolve } from "node:path";
import { findImportProblems } from "./lib/import-problems.mjs";

const problems = findImportProblems(resolve(import.meta.dirname, ".."));
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
