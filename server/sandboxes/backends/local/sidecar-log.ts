import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const maxBytes = 1024 * 1024;

/** For standard output and error of the sidecar. Appending, so that it can be cut at any time. */
export function openLog(path: string): Promise<FileHandle> {
  return open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW, 0o600);
}

/** The sandbox writes as much as it likes; whoever looks after it keeps the file small. */
export async function boundLog(path: string): Promise<void> {
  const file = await openLog(path);
  try {
    if ((await file.stat()).size > maxBytes) await file.truncate(0);
  } finally {
    await file.close();
  }
}

/** The end of it, as one line that can be shown. Empty when there is none. */
export async function lastWords(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null);
  if (!file) return "";
  try {
    const { size } = await file.stat();
    const length = Math.min(size, 2_000);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString("utf8").trim().replaceAll(/\s+/g, " ").slice(-300);
  } finally {
    await file.close();
  }
}
