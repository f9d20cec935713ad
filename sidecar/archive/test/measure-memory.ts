import { randomFillSync } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBlockPool } from "../block-filler.ts";
import { gzipBlocks } from "../gzip-blocks.ts";
import { packTree } from "../pack-tree.ts";
import { restoreDirectory } from "../restore-directory.ts";

/** Archives and restores so many megabytes, then prints the most memory that it ever had. */
const [, , folder = "", megabytes = "1"] = process.argv;
const root = join(folder, "from");
const archive = join(folder, "archive");
const limits = { maxBytes: 1e12, maxEntries: 1_000_000 };
const signal = AbortSignal.timeout(3_600_000);

await mkdir(root);
{
  await using file = await open(join(root, "large"), "w");
  const block = Buffer.alloc(1024 * 1024, "half of it repeats itself ");
  for (let written = 0; written < Number(megabytes); written += 1) {
    randomFillSync(block, 0, block.length / 2);
    await file.write(block);
  }
}
const pool = createBlockPool();
const options = { walk: { root }, rootName: "workspace", limits, withManifest: true, pool, signal };
await pipeline(gzipBlocks(packTree(options), pool), createWriteStream(archive));
const created = process.resourceUsage().maxRSS;
await restoreDirectory({
  source: createReadStream(archive),
  directory: join(folder, "to"),
  rootName: "workspace",
  unrelated: "refuse",
  limits,
  signal,
});
console.log(JSON.stringify({ created: created / 1024, restored: process.resourceUsage().maxRSS / 1024 }));
