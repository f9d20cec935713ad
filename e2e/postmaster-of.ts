import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The pid of the embedded Postgres of a home: the one that was started, not those it forked. */
export function postmasterOf(home: string): number | null {
  const file = join(home, "postgres", "data", "postmaster.pid");
  return existsSync(file) ? Number(readFileSync(file, "utf8").split("\n")[0]) : null;
}
