import { spawnSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBlockPool } from "../sidecar/archive/block-filler.ts";
import { gzipBlocks } from "../sidecar/archive/gzip-blocks.ts";
import { packTree } from "../sidecar/archive/pack-tree.ts";
import { restoreDirectory } from "../sidecar/archive/restore-directory.ts";

/**
 * Archives of a source-like and of a binary workspace, against `tar | gzip -1` and `pigz -1` on the same
 * files in the same run. SOURCE_MB and BINARY_MB set the sizes, ROUNDS how often; the best round counts.
 */
const megabyte = 1024 * 1024;
const sizes = { source: Number(process.env.SOURCE_MB ?? 100), binary: Number(process.env.BINARY_MB ?? 1_000) };
const rounds = Number(process.env.ROUNDS ?? 3);
const folder = await mkdtemp(join(tmpdir(), "dormouse-bench-"));
const limits = { mostBytes: 8e9, mostEntries: 1_000_000 };

/** Real sources: those of the packages that this clone has installed. */
async function makeSource(root: string, bytes: number): Promise<void> {
  const modules = resolve(import.meta.dirname, "../node_modules");
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  let copied = 0;
  for (const entry of entries.filter(({ name }) => /\.(js|mjs|ts|css|md|json)$/.test(name))) {
    if (!entry.isFile()) continue;
    const from = join(entry.parentPath, entry.name);
    const to = join(root, from.slice(modules.length).replaceAll("node_modules", "modules"));
    await mkdir(dirname(to), { recursive: true });
    await copyFile(from, to);
    copied += (await stat(to)).size;
    if (copied >= bytes) return;
  }
}

/** Half of it cannot be compressed, like pictures; half can, like weights and tables. */
async function makeBinary(root: string, bytes: number): Promise<void> {
  await mkdir(root, { recursive: true });
  const file = 50 * megabyte;
  for (let index = 0; index * file < bytes; index += 1) {
    const content = Buffer.alloc(Math.min(file, bytes - index * file));
    randomFillSync(content, 0, Math.floor(content.length / 2));
    for (let at = Math.floor(content.length / 2); at + 4 < content.length; at += 4) content.writeUInt32LE(at >>> 6, at);
    await writeFile(join(root, `${index}.bin`), content);
  }
}

async function best(work: () => Promise<void> | void): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now();
    await work();
    least = Math.min(least, performance.now() - began);
  }
  return least / 1_000;
}

function shell(command: string): void {
  const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

async function pack(root: string, to: string): Promise<void> {
  const pool = createBlockPool();
  const signal = AbortSignal.timeout(3_600_000);
  const options = { walk: { root }, rootName: "workspace", limits, withManifest: true, pool, signal };
  await pipeline(gzipBlocks(packTree(options), pool), createWriteStream(to));
}

async function unpack(from: string, directory: string): Promise<void> {
  const signal = AbortSignal.timeout(3_600_000);
  const source = createReadStream(from, { highWaterMark: 262_144 });
  await restoreDirectory({ source, directory, rootName: "workspace", unrelated: "refuse", limits, signal });
}

const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

async function measure(name: string, root: string): Promise<void> {
  const bytes = Number(spawnSync("du", ["-sb", root], { encoding: "utf8" }).stdout.split("\t")[0]) / megabyte;
  const file = (tool: string) => join(folder, `${tool}.tar.gz`);
  const tools: [string, () => Promise<void> | void][] = [
    ["ours", () => pack(root, file("ours"))],
    ["gzip", () => shell(`tar -C '${dirname(root)}' -c '${name}' | gzip -1 > '${file("gzip")}'`)],
  ];
  if (has("pigz"))
    tools.push(["pigz", () => shell(`tar -C '${dirname(root)}' -c '${name}' | pigz -1 > '${file("pigz")}'`)]);
  const seconds: Record<string, number> = {};
  for (const [tool, work] of tools) {
    seconds[tool] = await best(work);
    const size = (await stat(file(tool))).size / megabyte;
    report(`${name}: create with ${tool}`, seconds[tool], bytes, `${size.toFixed(1)} MB`);
  }
  const ratio = (seconds.gzip ?? 0) / (seconds.ours ?? 1);
  console.log(`${name}: create is ${ratio.toFixed(2)} times as fast as tar | gzip -1`);
  report(`${name}: restore with ours`, await best(() => unpack(file("ours"), join(folder, "restored"))), bytes);
  const plain = join(folder, "plain");
  const untar = `rm -rf '${plain}' && mkdir '${plain}' && tar -xzf '${file("gzip")}' -C '${plain}'`;
  report(`${name}: restore with tar -xzf`, await best(() => shell(untar)), bytes);
}

function report(what: string, seconds: number, bytes: number, more = ""): void {
  const memory = Math.round(process.resourceUsage().maxRSS / 1_024);
  console.log(
    `${what.padEnd(36)} ${seconds.toFixed(2).padStart(7)} s ${(bytes / seconds).toFixed(0).padStart(6)} MB/s  ${more.padEnd(10)} most RSS ${memory} MB`,
  );
}

try {
  await makeSource(join(folder, "source"), sizes.source * megabyte);
  await measure("source", join(folder, "source"));
  await makeBinary(join(folder, "binary"), sizes.binary * megabyte);
  await measure("binary", join(folder, "binary"));
} finally {
  await rm(folder, { recursive: true, force: true });
}
