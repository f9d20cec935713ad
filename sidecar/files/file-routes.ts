import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import type { FileEntry } from "../../server/protocol/sidecar.ts";
import type { Exchange } from "../door/exchange.ts";
import { checkedBody, parseJson } from "../door/read-body.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import { openDirectory, parsePath, withEntry } from "./confined-path.ts";

const maxEntries = 2_000;
const maxNames = 50_000;
const maxFileBytes = 2 * 1024 * 1024 * 1024;

export async function listFiles({ query, json }: Exchange, root: string): Promise<void> {
  const { path, segments } = parsePath(query.get("path"));
  const directory = await openDirectory(root, { path, segments });
  try {
    const folder = `/proc/self/fd/${directory.fd}`;
    const names = (await readdir(folder)).slice(0, maxNames).sort();
    const entries: FileEntry[] = [];
    for (const name of names.slice(0, maxEntries)) {
      const status = await lstat(`${folder}/${name}`).catch(() => null);
      if (status) entries.push(entryOf(`${path}/${name}`, name, status));
    }
    json(200, { entries, truncated: names.length > maxEntries });
  } finally {
    await directory.close();
  }
}

export async function statFile({ query, json }: Exchange, root: string): Promise<void> {
  const path = parsePath(query.get("path"));
  const entry = await withEntry(root, path, async (at, name) => entryOf(path.path, name, await lstat(at)));
  json(200, entry);
}

export async function readFile(exchange: Exchange, root: string): Promise<void> {
  const path = parsePath(exchange.query.get("path"));
  // Not blocking: nobody may be writing into a pipe of that name.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await withEntry(root, path, (at) => open(at, flags));
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Problem("invalid-input", `${path.path} is not a file.`);
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
export async function writeFile(exchange: Exchange, root: string): Promise<void> {
  const path = parsePath(exchange.query.get("path"), { forWriting: true });
  const { request, bodyHash } = exchange;
  const written = await withEntry(
    root,
    path,
    async (at, name) => {
      if ((await lstat(at).catch(() => null))?.isDirectory()) {
        throw new Problem("conflict", `${path.path} is a directory.`);
      }
      const temporary = `${dirname(at)}/.dormouse-${randomBytes(8).toString("hex")}.tmp`;
      const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644);
      try {
        for await (const chunk of checkedBody(request, { bodyHash, maxBytes: maxFileBytes }))
          await file.writeFile(chunk);
        await file.sync();
        await rename(temporary, at);
        return entryOf(path.path, name, await file.stat());
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      } finally {
        await file.close();
      }
    },
    { createParents: true },
  );
  exchange.json(200, written);
}

export async function deleteFile({ query, json }: Exchange, root: string): Promise<void> {
  const path = parsePath(query.get("path"), { forWriting: true });
  await withEntry(root, path, async (at) => {
    await lstat(at);
    await rm(at, { recursive: true });
  });
  json(200, {});
}

const move = z.object({ from: z.string(), to: z.string(), replace: z.boolean().default(false) });

export async function moveFile(exchange: Exchange, root: string): Promise<void> {
  const input = parseJson(await exchange.body(), move);
  const from = parsePath(input.from, { forWriting: true });
  const to = parsePath(input.to, { forWriting: true });
  await withEntry(root, from, async (source) => {
    await lstat(source);
    await withEntry(
      root,
      to,
      async (target) => {
        const existing = await lstat(target).catch((error) => {
          if (codeOf(error) !== "ENOENT") throw error;
          return null;
        });
        if (existing && !input.replace) throw new Problem("conflict", `${to.path} exists.`);
        await rename(source, target);
      },
      { createParents: true },
    );
  });
  exchange.json(200, {});
}

function entryOf(path: string, name: string, status: Stats): FileEntry {
  const kind = status.isFile()
    ? "file"
    : status.isDirectory()
      ? "directory"
      : status.isSymbolicLink()
        ? "link"
        : "other";
  return { name, path, kind, size: status.size, modifiedAt: Math.round(status.mtimeMs) };
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
