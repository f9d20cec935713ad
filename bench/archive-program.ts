import { openSync, readSync, writeSync } from "node:fs";
import { createBlockPool } from "../sidecar/archive/block-filler.ts";
import { gzipBlocks } from "../sidecar/archive/gzip-blocks.ts";
import { packTree } from "../sidecar/archive/pack-tree.ts";
import { restoreDirectory } from "../sidecar/archive/restore-directory.ts";

/**
 * `create <directory> <file>` or `restore <file> <directory>`, as the sidecar does it, in a process of its own; prints
 * what it took. The start of Node is not counted: the sidecar runs already. The sidecar has a socket where this
 * has a file, so that is read and written without the thread pool, too.
 */
const [, , verb = "", from = "", to = ""] = process.argv;
const limits = { maxBytes: 1e12, maxEntries: 1_000_000 };
const signal = AbortSignal.timeout(3_600_000);
const rootName = "workspace";

async function create(): Promise<void> {
  const pool = createBlockPool();
  const tree = packTree({ walk: { root: from }, rootName, limits, withManifest: true, pool, signal });
  const file = openSync(to, "w");
  for await (const chunk of gzipBlocks(tree, pool)) {
    for (let start = 0; start < chunk.length; ) start += writeSync(file, chunk, start);
  }
}

async function restore(): Promise<void> {
  await restoreDirectory({ source: chunksOf(from), directory: to, rootName, unrelated: "refuse", limits, signal });
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  const file = openSync(path, "r");
  for (;;) {
    const chunk = Buffer.allocUnsafe(65_536);
    const bytes = readSync(file, chunk);
    if (bytes === 0) return;
    yield chunk.subarray(0, bytes);
  }
}

const cpu = process.cpuUsage();
const began = performance.now();
await (verb === "create" ? create() : restore());
const seconds = (performance.now() - began) / 1_000;
const { user, system } = process.cpuUsage(cpu);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, memoryBytes: maxRSS * 1_024 }));
