import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const hook = "./server/boot/spare-module-lookups.ts";

/** What drizzle-orm offers to a process of its own, and how many KB that took. On Linux `maxRSS` counts its parent too. */
async function importDrizzle(before: string): Promise<{ names: string[]; memory: number }> {
  const program = `${before}
    const names = Object.keys(await import("drizzle-orm/pg-core"));
    const { readFileSync, existsSync } = await import("node:fs");
    const status = "/proc/self/status";
    const peak = existsSync(status) && /VmHWM:\\s+(\\d+)/.exec(readFileSync(status, "utf8"))?.[1];
    console.log(JSON.stringify({ names, memory: Number(peak || process.resourceUsage().maxRSS) }));`;
  const parameters = ["--input-type=module", "-e", program];
  return JSON.parse((await promisify(execFile)(process.execPath, parameters, { cwd: root })).stdout);
}

it("gives the same modules for much less memory", async () => {
  const plain = await importDrizzle("");
  const spared = await importDrizzle(`(await import("${hook}")).spareModuleLookups();`);
  expect(plain.names.length).toBeGreaterThan(100);
  expect(spared.names).toEqual(plain.names);
  expect(spared.memory).toBeLessThan(plain.memory / 2);
});
