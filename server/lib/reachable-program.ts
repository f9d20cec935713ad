import { existsSync } from "node:fs";
import { chmod, constants, copyFile, mkdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { canReach, type SystemUser } from "./can-reach.ts";

/** Where root puts what other users must be able to run. */
export const sharedDirectory = "/var/lib/dormouse";

/**
 * A clone below a closed directory such as /root cannot be entered by the users under whom root runs
 * things: they get a copy of the program. `version` tells one copy from the next.
 */
export async function reachableProgram(options: {
  program: string;
  version: string;
  user: SystemUser | null;
  directory?: string;
}): Promise<string> {
  const { program, version, user, directory = sharedDirectory } = options;
  if (user === null || canReach(program, user)) return program;
  const copy = join(directory, `${basename(program)}-${version}`);
  if (!existsSync(copy)) {
    const aside = `${copy}.new-${process.pid}`;
    await mkdir(directory, { recursive: true, mode: 0o755 });
    try {
      await copyFile(program, aside, constants.COPYFILE_FICLONE);
      await chmod(aside, 0o755);
      await rename(aside, copy);
    } finally {
      await rm(aside, { force: true });
    }
  }
  return copy;
}
