import { readdirSync, readFileSync } from "node:fs";
import type postgres from "postgres";

const folder = new URL("./functions/", import.meta.url);

export interface FunctionFile {
  /** As in SQL: with underscores. */
  name: string;
  definition: string;
}

export function readFunctionFiles(): FunctionFile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({
      name: file.slice(0, -".sql".length).replaceAll("-", "_"),
      definition: readFileSync(new URL(file, folder), "utf8"),
    }));
}

/**
 * Replaces every function by the definition of its file, all or none; under the migration lock, since
 * two replacements of one function at once fail. Bodies are not checked, so that their order does not
 * matter: the test beside this file checks them.
 */
export async function applyFunctions(owner: postgres.Sql): Promise<void> {
  const definitions = readFunctionFiles().map(({ definition }) => definition);
  await owner.begin((tx) => tx.unsafe(["set local check_function_bodies = off;", ...definitions].join("\n")));
}
