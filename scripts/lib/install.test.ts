import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { installIfNeeded } from "./install.mjs";
import { createSteps } from "./steps.mjs";

// Stands in for npm: says how it was called, leaves what npm leaves, fails as it is told to.
const npm = `
const { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } = require("node:fs");
const way = process.argv[2];
appendFileSync("calls", way + "\\n");
if (existsSync("fail-" + way)) process.exit(1);
if (way === "ci") rmSync("node_modules", { recursive: true, force: true });
else writeFileSync("package-lock.json", "changed by npm");
mkdirSync("node_modules", { recursive: true });
writeFileSync("node_modules/.package-lock.json", "{}");
`;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "dormouse-install-"));
  await writeFile(join(root, "npm-cli.cjs"), npm);
  await writeFile(join(root, "package.json"), "{}");
  await writeFile(join(root, "package-lock.json"), "committed");
  vi.stubEnv("npm_execpath", join(root, "npm-cli.cjs"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true, force: true });
});

const install = () => installIfNeeded({ root, steps: createSteps({ write: () => {} }) });
const calls = async () => (await readFile(join(root, "calls"), "utf8")).trim().split("\n");

describe("installing packages", () => {
  it("takes exactly what the lock names on a fresh clone, once", async () => {
    await install();
    await install();
    expect(await calls()).toEqual(["ci"]);
  });

  it("touches only what differs once there are packages", async () => {
    await install();
    await writeFile(join(root, "package.json"), '{ "private": true }');
    await install();
    expect(await calls()).toEqual(["ci", "install"]);
  });

  it("begins anew after an install that was cut short", async () => {
    await mkdir(join(root, "node_modules", "half"), { recursive: true });
    await install();
    expect(await calls()).toEqual(["ci"]);
  });

  it("goes the other way where npm ci refuses the lock, and leaves the lock as it was", async () => {
    await writeFile(join(root, "fail-ci"), "");
    await install();
    expect(await calls()).toEqual(["ci", "install"]);
    expect(await readFile(join(root, "package-lock.json"), "utf8")).toBe("committed");
  });

  it("says so when nothing helps, and tries again at the next start", async () => {
    await writeFile(join(root, "fail-ci"), "");
    await writeFile(join(root, "fail-install"), "");
    await expect(install()).rejects.toThrow("could not be installed");
    await rm(join(root, "fail-ci"));
    await install();
    expect(await calls()).toEqual(["ci", "install", "ci"]);
  });

  it("lets one of two starts do it while the other waits", async () => {
    await Promise.all([install(), install()]);
    expect(await calls()).toEqual(["ci"]);
  });
});
