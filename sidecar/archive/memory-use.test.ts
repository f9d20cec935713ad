import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run, withFolder } from "./test-archives.ts";

const program = join(import.meta.dirname, "test/measure-memory.ts");
const large = Number(process.env.ARCHIVE_TEST_MB ?? 64);
const small = Math.min(10, large);

async function measure(megabytes: number): Promise<{ created: number; restored: number }> {
  let found = { created: 0, restored: 0 };
  await withFolder(async (folder) => {
    found = JSON.parse((await run(process.execPath, [program, folder, String(megabytes)])).stdout);
  });
  return found;
}

describe("the memory that archives take", () => {
  it(`does not grow from ${small} to ${large} MB`, { timeout: 600_000 }, async () => {
    const [little, much] = [await measure(small), await measure(large)];
    console.log(`most RSS in MB at ${small} MB: ${JSON.stringify(little)}, at ${large} MB: ${JSON.stringify(much)}`);
    // Garbage that waits for its collector comes and goes; holding the content would take more than that.
    const slack = Math.min(96, large - small);
    expect(much.created).toBeLessThan(little.created + slack);
    expect(much.restored).toBeLessThan(little.restored + slack);
  });
});
