import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface Passwords {
  superuser: string;
  owner: string;
}

/** Null when there are none yet. */
export async function readPasswords(home: string): Promise<Passwords | null> {
  try {
    return JSON.parse(await readFile(fileOf(home), "utf8")) as Passwords;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

export async function keepPasswords(home: string): Promise<Passwords> {
  const passwords = { superuser: randomBytes(24).toString("base64url"), owner: randomBytes(24).toString("base64url") };
  const aside = `${fileOf(home)}.new`;
  await writeFile(aside, `${JSON.stringify(passwords, null, 2)}\n`, { mode: 0o600, flush: true });
  await rename(aside, fileOf(home));
  return passwords;
}

function fileOf(home: string): string {
  return join(home, "postgres-passwords.json");
}
