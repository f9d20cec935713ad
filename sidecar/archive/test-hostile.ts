import { gzipSync } from "node:zlib";
import { endOfArchive } from "../../server/protocol/archive/encode-entry.ts";
import type { Random } from "../test-random.ts";
import { bytesOf, type MadeEntry, sumUp } from "./test-archives.ts";

const parts = [
  "a",
  "b",
  "c",
  "..",
  ".",
  "",
  "link",
  "d e",
  "\u00fc",
  "x".repeat(90),
  "x".repeat(260),
  "\0",
  ".git",
  "\n",
];
const strangers = ["home", "/", "..", ".opencode-data", "workspace"];
const flags = ["0", "1", "2", "3", "4", "5", "6", "7", "x", "g", "L", "K", "S", "Z", "\0"];

export interface Aim {
  /** The root that is expected. */
  root: string;
  /** What it tries to reach. */
  target: string;
}

/** An archive that tries to get out, to break the reader, or just is a little wrong. Some are even right. */
export function hostileArchive(random: Random, aim: Aim): Buffer {
  const entries = Array.from({ length: 1 + random.below(8) }, () => hostileEntry(random, aim));
  let tar: Buffer = Buffer.concat([...entries.map(bytesOf), ...(random.chance(0.9) ? [endOfArchive] : [])]);
  if (random.chance(0.3)) tar = damage(random, tar);
  let archive: Buffer = gzipSync(tar);
  if (random.chance(0.1)) archive = damage(random, archive);
  if (random.chance(0.05)) archive = archive.subarray(0, random.below(archive.length));
  return archive;
}

function hostileEntry(random: Random, { root, target }: Aim): MadeEntry {
  const kind = random.pick(["file", "file", "file", "directory", "link", "link", "hard-link"] as const);
  const links = [
    target,
    "/",
    "..",
    "../..",
    "../../../../../../../tmp",
    "a",
    "a/b",
    "link",
    "link/..",
    hostileName(random, root),
  ];
  const entry: MadeEntry = {
    kind,
    name: hostileName(random, root),
    ...(kind === "file" ? { content: "escaped!".repeat(random.below(200)) } : {}),
    ...(kind === "link" || kind === "hard-link" ? { target: random.pick(links) } : {}),
    mode: random.pick([0o644, 0o755, 0o000, 0o7777 & 0o777]),
  };
  if (random.chance(0.15)) return { ...entry, header: (block) => void block.write(random.pick(flags), 156, "latin1") };
  if (random.chance(0.1)) return { ...entry, header: (block) => void random.bytes(12).copy(block, 124) };
  if (random.chance(0.1)) return { ...entry, size: random.pick([0, 1, 511, 513, 1e6, 2 ** 40]) };
  if (random.chance(0.1)) {
    const record = ` ${random.pick(["path", "linkpath", "size", "GNU.sparse.major"])}=${hostileName(random, root)}\n`;
    const content = `${record.length + random.pick([2, 3, 3, 3, 9])}${record}`;
    return { name: "pax", content, header: (block) => void block.write("x", 156, "latin1") };
  }
  return entry;
}

function hostileName(random: Random, root: string): string {
  const roots = [root, root, root, root, `./${root}`, ...strangers];
  return [random.pick(roots), ...Array.from({ length: random.below(5) }, () => random.pick(parts))].join("/");
}

function damage(random: Random, bytes: Buffer): Buffer {
  const damaged = Buffer.from(bytes);
  for (let count = 1 + random.below(6); count > 0; count -= 1) {
    const at = random.below(damaged.length);
    damaged[at] = random.below(256);
    const block = damaged.subarray(at - (at % 512), at - (at % 512) + 512);
    // Past the checksum is where it becomes interesting.
    if (random.chance(0.7) && block.length === 512 && block[0] !== 0) sumUp(block);
  }
  return damaged;
}
