import { hkdfSync, randomBytes } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { BootError } from "./boot-error.ts";

const keyBytes = 32;

export interface MasterKey {
  key: Buffer;
  /**
   * Makes sure that the next start finds it. Called before anything lasts that only this key can read; a start that
   * is refused before that leaves no key behind. Idempotent.
   */
  keep(): Promise<void>;
}

/** The root of every secret. Losing it loses the encrypted ones, so a file that is wrong is never replaced. */
export async function loadMasterKey(options: { home: string; configured: Config["masterKey"] }): Promise<MasterKey> {
  const { home, configured } = options;
  if (configured.kind === "environment") return { key: configured.key, keep: async () => {} };
  const path = join(home, "master-key");
  const found = await readKey(path);
  if (found) return { key: found, keep: async () => {} };
  const key = randomBytes(keyBytes);
  let keeping: Promise<void> | undefined;
  return {
    key,
    keep() {
      keeping ??= keepKey(path, key);
      return keeping;
    },
  };
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
async function keepKey(path: string, key: Buffer): Promise<void> {
  const aside = `${path}.new`;
  await rm(aside, { force: true });
  const file = await open(aside, "wx", 0o600);
  try {
    await file.writeFile(`${key.toString("base64")}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(aside, path);
  if (!(await readKey(path))?.equals(key)) throw new BootError(`The master key could not be kept in ${path}.`);
}
