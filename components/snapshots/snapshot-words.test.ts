import { expect, test } from "vitest";
import type { Snapshot, SnapshotFiles } from "@/server/protocol/snapshots.ts";
import { toLeftOutWords, toSnapshotWords } from "./snapshot-words.ts";

const snapshot: Snapshot = {
  id: "one",
  state: "verified",
  createdAt: "2026-11-17T10:00:00.000Z",
  bytes: 2048,
  contents: { entries: 1, bytes: 10_000, leftOut: 0, changed: 0 },
  cause: null,
  restoreRequested: false,
};

test("a snapshot is described in one line", () => {
  expect(toSnapshotWords(snapshot)).toBe("2 KB");
  expect(toSnapshotWords({ ...snapshot, restoreRequested: true })).toBe("2 KB · restores on wake");
  const file = { path: "src/a", kind: "file" as const, size: 1, modifiedAt: snapshot.createdAt };
  const files = { entries: [{ ...file, path: "src", kind: "directory" as const }, file], leftOut: [], leftOutCount: 0 };
  expect(toSnapshotWords(snapshot, { ...files, truncated: false })).toBe("2 KB · 1 file");
  expect(toSnapshotWords(snapshot, { ...files, truncated: true })).toBe("2 KB · more than 1 files");
});

const regenerable = (...paths: string[]) => paths.map((path) => ({ path, reason: "regenerable" as const }));
const words = (leftOut: SnapshotFiles["leftOut"], unnamed = 0) =>
  toLeftOutWords({ leftOut, leftOutCount: leftOut.length + unnamed });

test("what was left out is named as far as that is readable", () => {
  expect(words([])).toBeNull();
  expect(words(regenerable("node_modules"))).toBe("node_modules is left out; it can be regenerated.");
  expect(words(regenerable("node_modules", ".next"))).toBe(
    "node_modules and .next are left out; they can be regenerated.",
  );
  expect(words(regenerable("node_modules", ".next", ".cache"))).toBe(
    "node_modules and 2 more are left out; they can be regenerated.",
  );
  expect(words(regenerable("a/__pycache__"), 500)).toBe(
    "a/__pycache__ and 500 more are left out; they can be regenerated.",
  );
});

test("what cannot be made again is told apart", () => {
  expect(words([{ path: "agent.sock", reason: "special-file" }])).toBe("agent.sock is not saved.");
  expect(words([...regenerable("node_modules"), { path: "secret", reason: "unreadable" }])).toBe(
    "node_modules is left out; it can be regenerated. secret is not saved.",
  );
});
