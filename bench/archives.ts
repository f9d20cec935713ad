import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { growHistory, unpackPlainly } from "./lib/agent-history.ts";
import { makeBinary, makeSource } from "./lib/archive-data.ts";
import { type ArchiveTool, bundleOurs, type Cost, gzip, isHere, pigz } from "./lib/archive-tools.ts";
import { median } from "./lib/statistics.ts";

/**
 * Archives of a source-like workspace, a binary one and an agent's history against `tar | gzip -1` and
 * `tar | pigz -1`, on the same files in the same run, taking turns; medians. Files are on disk (TMPDIR) and
 * in the page cache for all alike; archives are made into /dev/null. SOURCE_MB, BINARY_MB and TURNS set the
 * sizes (0 leaves one out), ROUNDS how often. The full size, which is the default, takes 6 GB of disk. Between two runs
 * some minutes should pass, for the same reason that few things are removed in between.
 */
const size = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const megabytes = { source: size("SOURCE_MB", 100), binary: size("BINARY_MB", 1_000) };
const turns = size("TURNS", 50);
const rounds = size("ROUNDS", 5);
const folder = await mkdtemp(join(process.env.BENCH_DIRECTORY ?? tmpdir(), "dormouse-bench-"));
const tools = [await bundleOurs(folder), gzip, ...(isHere("pigz") ? [pigz] : [])];
const rows: Record<string, Record<string, string | number>> = {};
const averages: (number | undefined)[] = [];

async function measure(name: string, directory: string): Promise<void> {
  const archiveOf = ({ name: tool }: ArchiveTool) =>
    join(folder, `${name}-${tools.findIndex((one) => one.name === tool)}.tar.gz`);
  console.log(`Measuring: ${name}`);
  // Not counted: it fills the page cache.
  for (const tool of tools) tool.create(directory, archiveOf(tool));
  const sizes = await Promise.all(tools.map(async (tool) => (await stat(archiveOf(tool))).size));
  const created = takeTurns((tool) => tool.create(directory, "/dev/null"));
  report(`${name}: create`, created, sizes);
  let made = 0;
  // Only what takes much room is removed before the end: for minutes after files were, ext4 takes long to make others.
  const isLarge = Math.max(...sizes) > 100e6;
  const restored = takeTurns((tool) => {
    // What earlier runs have left to be written to disk would slow this one down.
    spawnSync("sync", ["-f", folder]);
    made += 1;
    const to = join(folder, `${name}-restored-${made}`);
    const cost = tool.restore(archiveOf(tool), to);
    if (isLarge) rmSync(to, { recursive: true });
    return cost;
  });
  report(`${name}: restore`, restored);
  averages.push(loadavg()[0]);
}

function takeTurns(work: (tool: ArchiveTool) => Cost): Cost[][] {
  const costs: Cost[][] = tools.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, tool] of tools.entries()) costs[index]?.push(work(tool));
  }
  return costs;
}

function report(what: string, costs: readonly Cost[][], sizes: readonly number[] = []): void {
  const peer = tools.indexOf(gzip);
  const peerSeconds = middle(costs[peer] ?? [], "seconds");
  for (const [index, tool] of tools.entries()) {
    add(`${what}, ${tool.name}`, costs[index] ?? [], peerSeconds, sizes[index], sizes[peer]);
  }
  if (!tools.includes(pigz)) rows[`${what}, ${pigz.name}`] = { seconds: "pigz is not here" };
}

function add(row: string, costs: readonly Cost[], peerSeconds: number, bytes?: number, peerBytes?: number): void {
  const seconds = middle(costs, "seconds");
  const memory = Math.max(...costs.map(({ memoryBytes = 0 }) => memoryBytes));
  rows[row] = {
    seconds: seconds.toFixed(2),
    "speed to gzip's": (peerSeconds / seconds).toFixed(2),
    "CPU seconds": middle(costs, "cpuSeconds").toFixed(2),
    ...(bytes && peerBytes ? { MB: (bytes / 1e6).toFixed(1), "size to gzip's": (bytes / peerBytes).toFixed(3) } : {}),
    ...(memory ? { "most RSS, MB": Math.round(memory / 1e6) } : {}),
  };
}

function middle(costs: readonly Cost[], what: "seconds" | "cpuSeconds"): number {
  return median(costs.map((cost) => cost[what]));
}

/** The plain files of the history like the others, then as the sidecar does it: with backup, check, hash and proof. */
async function measureHistory(sources: string): Promise<void> {
  await using history = await growHistory(turns, sources);
  const archive = join(folder, "history.tar.gz");
  await history.create(archive);
  await unpackPlainly(archive, join(folder, "history"));
  const name = `history of ${turns} turns`;
  await measure(name, join(folder, "history"));
  const created: Cost[] = [];
  const restored: Cost[] = [];
  const peers = { created: [] as Cost[], restored: [] as Cost[] };
  for (let round = 0; round < rounds; round += 1) {
    created.push(await history.create("/dev/null"));
    peers.created.push(gzip.create(join(folder, "history"), "/dev/null"));
    restored.push(await history.restore(archive));
    peers.restored.push(gzip.restore(join(folder, `${name}-1.tar.gz`), join(folder, `again-${round}`)));
  }
  add(`${name}: create, sidecar`, created, middle(peers.created, "seconds"));
  add(`${name}: restore, sidecar`, restored, middle(peers.restored, "seconds"));
}

try {
  averages.push(loadavg()[0]);
  const sources = join(folder, "source");
  await makeSource(sources, megabytes.source || 1);
  if (megabytes.source > 0) await measure("source", sources);
  if (turns > 0) await measureHistory(sources);
  if (megabytes.binary > 0) {
    await makeBinary(join(folder, "binary"), megabytes.binary);
    await measure("binary", join(folder, "binary"));
  }
  const files = (await readdir(sources, { recursive: true })).length;
  console.log(
    `source: ${megabytes.source} MB, ${files} entries; binary: ${megabytes.binary} MB; ${rounds} rounds, medians`,
  );
  console.table(rows);
  console.log(`Load average of the machine meanwhile: ${averages.map((average) => average?.toFixed(1)).join(", ")}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
