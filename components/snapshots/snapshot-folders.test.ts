import { expect, test } from "vitest";
import type { SnapshotEntry } from "@/server/protocol/snapshots.ts";
import { toFolders } from "./snapshot-folders.ts";

const at = "2026-11-17T10:00:00.000Z";
const entry = (path: string, kind: SnapshotEntry["kind"] = "file"): SnapshotEntry => ({
  path,
  kind,
  size: 1,
  modifiedAt: at,
});
const names = (folders: ReturnType<typeof toFolders>, path: string) =>
  folders.get(path)?.entries.map(({ name }) => name);

test("entries become folders, folders first", () => {
  const folders = toFolders({
    entries: [entry("b.txt"), entry("src", "directory"), entry("src/z.ts"), entry("src/a.ts"), entry("a.txt", "link")],
    truncated: false,
  });
  expect(names(folders, "")).toEqual(["src", "a.txt", "b.txt"]);
  expect(names(folders, "src")).toEqual(["a.ts", "z.ts"]);
  expect(folders.get("src")?.entries[0]).toEqual({
    name: "a.ts",
    path: "src/a.ts",
    kind: "file",
    size: 1,
    modifiedAt: Date.parse(at),
  });
});

test("folders that only their files tell of are there, once", () => {
  const folders = toFolders({
    entries: [entry("a/b/c.txt"), entry("a", "directory"), entry("a/b/d.txt")],
    truncated: true,
  });
  expect(names(folders, "")).toEqual(["a"]);
  expect(names(folders, "a")).toEqual(["b"]);
  expect(names(folders, "a/b")).toEqual(["c.txt", "d.txt"]);
  expect(folders.get("")?.truncated).toBe(true);
});

test("names that objects have anyway are folders like any other", () => {
  const folders = toFolders({ entries: [entry("constructor/a"), entry("__proto__/b")], truncated: false });
  expect(names(folders, "")).toEqual(["__proto__", "constructor"]);
  expect(names(folders, "constructor")).toEqual(["a"]);
  expect(names(folders, "__proto__")).toEqual(["b"]);
});

test("given folders are shown once something is in them", () => {
  const given = [entry("outputs", "directory"), entry("attachments", "directory")];
  expect(names(toFolders({ entries: given, truncated: false }), "")).toEqual([]);
  expect(names(toFolders({ entries: [...given, entry("outputs/a")], truncated: false }), "")).toEqual(["outputs"]);
});
