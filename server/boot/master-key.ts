import { hkdfSync, randomBytes } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { BootError } from "./boot-error.ts";

const keyBytes = 32;

/** The root of every secret. Losing it loses the encrypted ones, so a file that is wrong is never replaced. */
export async function loadMasterKey(options: { home: string; configured: Config["masterKey"] }): Promise<Buffer> {
  const { home, configured } = options;
  if (configured.kind === "environment") return configured.key;
  const path = join(home, "master-key");
  const found = await readKey(path);
  if (found) return found;
  await createKey(path);
  const made = await readKey(path);
  if (!made) throw new BootError(`The master key could not be kept in ${path}.`);
  return made;
}

/** Keys for different purposes are independent: knowing one tells nothing about another. */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", master, "dormouse", purpose, keyBytes));
}

async function readKey(path: string): Promise<Buffer | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new BootError(
      `The master key in ${path} cannot be read (${code}). Make it readable by the user who starts Dormouse.`,
      {
        cause: error,
      },
    );
  }
  const key = Buffer.from(text.trim(), "base64");
  if (key.length === keyBytes) return key;
  throw new BootError(
    `The master key in ${path} is damaged: it must be ${keyBytes} bytes in base64.
Put the file back from a backup. Without it, stored provider keys cannot be read. Remove the file only if you can do without those keys.`,
  );
}

// Written aside and renamed: a start that dies half-way leaves no half key behind.
async function createKey(path: string): Promise<void> {
  const aside = `${path}.new`;
  await rm(aside, { force: true });
  const file = await open(aside, "wx", 0o600);
  try {
    await file.writeFile(`${randomBytes(keyBytes).toString("base64")}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(aside, path);
}
