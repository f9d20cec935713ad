import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createBlockPool } from "../sidecar/archive/block-filler.ts";
import { gzipBlocks } from "../sidecar/archive/gzip-blocks.ts";
import { packTree } from "../sidecar/archive/pack-tree.ts";
import { restoreDirectory } from "../sidecar/archive/restore-directory.ts";

/**
 * `create <directory> <file>` or `restore <file> <directory>`, as the sidecar does it, in a process of its own; prints
 * what it took. The start of Node is not counted: the sidecar runs already.
 */
const [, , verb = "", from = "", to = ""] = process.argv;
const limits = { mostBytes: 1e12, mostEntries: 1_000_000 };
const signal = AbortSignal.timeout(3_600_000);
const rootName = "workspace";

async function create(): Promise<void> {
  const pool = createBlockPool();
  const tree = packTree({ walk: { root: from }, rootName, limits, withManifest: true, pool, signal });
  await pipeline(gzipBlocks(tree, pool), createWriteStream(to));
}

async function restore(): Promise<void> {
  const source = createReadStream(from, { highWaterMark: 262_144 });
  await restoreDirectory({ source, directory: to, rootName, unrelated: "refuse", limits, signal });
}

const cpu = process.cpuUsage();
const began = performance.now();
await (verb === "create" ? create() : restore());
const seconds = (performance.now() - began) / 1_000;
const { user, system } = process.cpuUsage(cpu);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, memoryBytes: maxRSS * 1_024 }));
