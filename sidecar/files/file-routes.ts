import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { type RawName, rawName, writtenName } from "../../server/protocol/archive/raw-name.ts";
import { shownName } from "../../server/protocol/shown-name.ts";
import type { FileEntry } from "../../server/protocol/sidecar.ts";
import { type PathOfName, pathIn } from "../archive/walk-tree.ts";
import type { Exchange } from "../door/exchange.ts";
import { checkedBody, parseJson } from "../door/read-body.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import type { WorkspaceLocks } from "../workspace-locks.ts";
import { type ConfinedPath, folderOf, openDirectory, parsePath, withEntry } from "./confined-path.ts";

const maxEntries = 2_000;
const maxNames = 50_000;
const maxFileBytes = 2 * 1024 * 1024 * 1024;

/** Where the changes below have to stand back: a restore would replace them. */
export interface ChangesOptions {
  root: string;
  locks: WorkspaceLocks;
}

export async function listFiles({ query, json }: Exchange, root: string): Promise<void> {
  const path = parsePath(query.get("path"));
  const directory = await openDirectory(root, path);
  try {
    const folder = folderOf(directory);
    const names = (await readdir(folder, { encoding: "buffer" })).slice(0, maxNames).map(rawName).sort();
    const entries: FileEntry[] = [];
    for (const name of names.slice(0, maxEntries)) {
      const status = await lstat(pathIn(folder, name)).catch(() => null);
      if (status) entries.push(entryOf({ segments: [...path.segments, name] }, status));
    }
    json(200, { entries, truncated: names.length > maxEntries });
  } finally {
    await directory.close();
  }
}

export async function statFile({ query, json }: Exchange, root: string): Promise<void> {
  const path = parsePath(query.get("path"));
  const entry = await withEntry(root, path, async ({ at }) => entryOf(path, await lstat(at)));
  json(200, entry);
}

export async function readFile(exchange: Exchange, root: string): Promise<void> {
  const path = parsePath(exchange.query.get("path"));
  // Not blocking: nobody may be writing into a pipe of that name.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await withEntry(root, path, ({ at }) => open(at, flags));
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Problem("invalid-input", `${shownName(path.path)} is not a file.`);
    const range = parseRange(exchange.request.headers.range, status.size);
    const { start, end } = range ?? { start: 0, end: status.size - 1 };
    exchange.stream(range ? 206 : 200, {
      "content-type": "application/octet-stream",
      "content-length": end - start + 1,
      "accept-ranges": "bytes",
      "last-modified": status.mtime.toUTCString(),
      ...(range ? { "content-range": `bytes ${start}-${end}/${status.size}` } : {}),
    });
    if (end < start) return void exchange.response.end();
    await pipeline(file.createReadStream({ start, end, autoClose: false }), exchange.response).catch(() => {
      exchange.response.destroy();
    });
  } finally {
    await file.close();
  }
}

/** The file appears whole or not at all: also when the body turns out not to be the signed one. */
export async function writeFile(exchange: Exchange, { root, locks }: ChangesOptions): Promise<void> {
  const path = parsePath(exchange.query.get("path"), { forWriting: true });
  const { request, bodyHash } = exchange;
  const write = () =>
    withEntry(
      root,
      path,
      async ({ at, folder }) => {
        if ((await lstat(at).catch(() => null))?.isDirectory()) {
          throw new Problem("conflict", `${shownName(path.path)} is a directory.`);
        }
        const temporary = `${folder}/.dormouse-${randomBytes(8).toString("hex")}.tmp`;
        const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644);
        try {
          for await (const chunk of checkedBody(request, { bodyHash, maxBytes: maxFileBytes }))
            await file.writeFile(chunk);
          await file.sync();
          await rename(temporary, at);
          return entryOf(path, await file.stat());
        } catch (error) {
          await rm(temporary, { force: true });
          throw error;
        } finally {
          await file.close();
        }
      },
      { createParents: true },
    );
  exchange.json(200, await locks.shareNow(sessionOf(path), write));
}

export async function deleteFile({ query, json }: Exchange, { root, locks }: ChangesOptions): Promise<void> {
  const path = parsePath(query.get("path"), { forWriting: true });
  await locks.shareNow(sessionOf(path), () =>
    withEntry(root, path, async ({ at }) => {
      await lstat(at);
      await rm(at, { recursive: true });
    }),
  );
  json(200, {});
}

const move = z.object({ from: z.string(), to: z.string(), replace: z.boolean().default(false) });

export async function moveFile(exchange: Exchange, { root, locks }: ChangesOptions): Promise<void> {
  const input = parseJson(await exchange.body(), move);
  const from = parsePath(input.from, { forWriting: true });
  const to = parsePath(input.to, { forWriting: true });
  const moveInto = (source: PathOfName) =>
    withEntry(
      root,
      to,
      async ({ at: target }) => {
        const existing = await lstat(target).catch((error) => {
          if (codeOf(error) !== "ENOENT") throw error;
          return null;
        });
        if (existing && !input.replace)
          throw new Problem("conflict", `There is already a file or folder ${shownName(to.path)}.`);
        await rename(source, target);
      },
      { createParents: true },
    );
  const moveFrom = () =>
    withEntry(root, from, async ({ at: source }) => {
      await lstat(source);
      await moveInto(source);
    });
  await locks.shareNow(sessionOf(from), () => locks.shareNow(sessionOf(to), moveFrom));
  exchange.json(200, {});
}

/** Of a path that may be changed, which lies in one. */
function sessionOf({ segments }: ConfinedPath): string {
  return segments[1] ?? "";
}

function entryOf({ segments }: Pick<ConfinedPath, "segments">, status: Stats): FileEntry {
  const kind = status.isFile()
    ? "file"
    : status.isDirectory()
      ? "directory"
      : status.isSymbolicLink()
        ? "link"
        : "other";
  const name: RawName = segments.at(-1) ?? "";
  const path = segments.join("/");
  return {
    name: writtenName(name),
    path: writtenName(path),
    kind,
    size: status.size,
    modifiedAt: Math.round(status.mtimeMs),
  };
}

/** One range, as browsers ask for it; null when the whole is wanted. */
function parseRange(header: string | undefined, size: number): { start: number; end: number } | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return null;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (start > end) throw new Problem("invalid-input", `That range is outside the file, which is ${size} bytes long.`);
  return { start, end };
}
