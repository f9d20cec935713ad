import { buffer, text } from "node:stream/consumers";
import { setImmediate as soon } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { ArchiveManifest } from "../protocol/archive/archive-answers.ts";
import { encodeEntry, endOfArchive } from "../protocol/archive/encode-entry.ts";
import { type RawName, rawName, rawNameOf } from "../protocol/archive/raw-name.ts";
import { paddingOf, type TarEntry } from "../protocol/archive/tar-entry.ts";
import { listEntries } from "./list-entries.ts";
import { openEntry } from "./open-entry.ts";

const manifest: ArchiveManifest = {
  version: 1,
  createdAt: 0,
  entries: 7,
  bytes: 20,
  leftOut: [
    { path: "node_modules", reason: "regenerable" },
    { path: ".opencode/skills", reason: "managed-link" },
  ],
  leftOutCount: 2,
  changed: [],
  changedCount: 0,
};

const snapshot = archiveOf([
  { name: "workspace", kind: "directory" },
  { name: "workspace/.git", kind: "directory" },
  { name: "workspace/.git/config", content: "the repository's own" },
  { name: "workspace/.github/ci.yml", content: "on: push" },
  { name: "workspace/outputs", kind: "directory" },
  { name: "workspace/outputs/größe.html", content: "<h1>hello</h1>" },
  { name: "workspace/outputs/empty.txt" },
  { name: "workspace/second.html", kind: "hard-link", target: "workspace/outputs/größe.html" },
  { name: "workspace/way.html", kind: "link", target: "outputs/größe.html" },
  { name: "manifest.json", content: JSON.stringify(manifest) },
]);

test("a snapshot names its files and what was left out, not what the repository keeps for itself", async () => {
  const { entries, ...rest } = await listEntries(streamOf(snapshot));
  expect(entries.map(({ path, kind, size }) => [path, kind, size])).toEqual([
    [".github/ci.yml", "file", 8],
    ["outputs", "directory", 0],
    ["outputs/größe.html", "file", 14],
    ["outputs/empty.txt", "file", 0],
    ["second.html", "file", 14],
    ["way.html", "link", 0],
  ]);
  expect(rest).toEqual({
    truncated: false,
    leftOut: [{ path: "node_modules", reason: "regenerable" }],
    leftOutCount: 1,
  });
});

test("files whose names are not UTF-8, or look alike, are each their own, also among what was left out", async () => {
  const latin = (...bytes: number[]) => rawName(Buffer.from([...Buffer.from("workspace/"), ...bytes]));
  const bytes = Buffer.from([0x64, 0xe8]).toString("base64");
  const missing = { ...manifest, leftOut: [{ path: "d\ufffd", bytes, reason: "unreadable" as const }] };
  const whole = archiveOf([
    { raw: latin(0x61, 0xe9), name: "", content: "first" },
    { raw: latin(0x61, 0xe8), name: "", content: "second" },
    { name: "workspace/a\ufffd", content: "third" },
    { name: "manifest.json", content: JSON.stringify(missing) },
  ]);
  const { entries, leftOut } = await listEntries(streamOf(whole));
  const paths = entries.map(({ path }) => path);
  expect(paths).toEqual(["a\ufffde9", "a\ufffde8", "a\ufffdef\ufffdbf\ufffdbd"]);
  const contents = paths.map(async (path) => text((await openEntry(async () => streamOf(whole), path)).body));
  expect(await Promise.all(contents)).toEqual(["first", "second", "third"]);
  expect(leftOut).toEqual([{ path: "d\ufffde8", reason: "unreadable" }]);
  await expect(openEntry(async () => streamOf(whole), "a\ufffd")).rejects.toMatchObject({ kind: "not-found" });
});

test("more files than can be named are said to be more, and the manifest is still read", async () => {
  const many = Array.from({ length: 10_001 }, (_, index) => ({ name: `workspace/${index}` }));
  const whole = archiveOf([...many, { name: "manifest.json", content: JSON.stringify(manifest) }]);
  const { entries, truncated, leftOutCount } = await listEntries(streamOf(whole));
  expect([entries.length, truncated, leftOutCount]).toEqual([10_000, true, 1]);
});

test.each([["outputs/größe.html"], ["second.html"]])("the file %s is read by any of its names", async (path) => {
  const { size, body } = await openEntry(async () => streamOf(snapshot), path);
  expect(await text(body)).toBe("<h1>hello</h1>");
  expect(size).toBe(14);
});

test("an empty file is read as one", async () => {
  expect((await buffer((await openEntry(async () => streamOf(snapshot), "outputs/empty.txt")).body)).length).toBe(0);
});

test.each([
  ["", "not-found"],
  ["nowhere.txt", "not-found"],
  ["../manifest.json", "not-found"],
  ["/etc/passwd", "not-found"],
  ["outputs/../outputs/empty.txt", "not-found"],
  [".git/config", "not-found"],
  ["outputs", "invalid-input"],
  ["way.html", "invalid-input"],
])("“%s” is no file of the snapshot: %s", async (path, kind) => {
  await expect(openEntry(async () => streamOf(snapshot), path)).rejects.toMatchObject({ kind });
});

test("what is not an archive is said to be unreadable", async () => {
  const nonsense = () => streamOf(gzipSync(Buffer.alloc(4096, 1)));
  await expect(listEntries(nonsense())).rejects.toMatchObject({ kind: "upstream" });
  await expect(openEntry(async () => nonsense(), "a")).rejects.toMatchObject({ kind: "upstream" });
});

test("a file that nobody reads to its end holds nothing open", async () => {
  const large = archiveOf([{ name: "workspace/large", content: Buffer.alloc(4_000_000, "x") }]);
  let closed = false;
  async function* source() {
    try {
      yield* streamOf(large);
    } finally {
      closed = true;
    }
  }
  const { body } = await openEntry(async () => source(), "large");
  body.destroy();
  await expect.poll(() => closed).toBe(true);
});

type Made = Partial<TarEntry> & { name: string; raw?: RawName; content?: string | Buffer };

function archiveOf(entries: Made[]): Buffer {
  const blocks = entries.flatMap(({ name, raw = rawNameOf(name), content = "", target = "", ...entry }) => {
    const body = Buffer.from(content);
    const made = { kind: "file" as const, mode: 0o644, modifiedAt: 0, ...entry };
    const header = encodeEntry({ ...made, name: raw, target: rawNameOf(target), size: body.length });
    return [header, body, Buffer.alloc(paddingOf(body.length))];
  });
  return gzipSync(Buffer.concat([...blocks, endOfArchive]), { level: 0 });
}

async function* streamOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 1000) {
    await soon();
    yield bytes.subarray(start, start + 1000);
  }
}
