import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { missingPlatforms, uncheckedPackages, withMissingPlatforms } from "./lock-platforms.mjs";

const committed = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8"));

describe("the committed lock", () => {
  it("names the packages of every platform, so that npm ci accepts it anywhere", () => {
    expect(missingPlatforms(committed)).toEqual([]);
  });

  it("has a digest of all that is installed, but for platforms that the registry lacked", () => {
    for (const path of uncheckedPackages(committed)) {
      expect(committed.packages[path], path).toMatchObject({ optional: true, os: [expect.any(String)] });
    }
  });

  it("names no registry", () => {
    expect(JSON.stringify(committed)).not.toContain('"resolved"');
  });
});

describe("completing a lock", () => {
  const wanting = { version: "1.0.0", dev: true, optionalDependencies: { "@x/cli-windows-arm64": "1.0.0" } };

  it("reads version and platform of what the registry lacks from what wants it", () => {
    const lock = withMissingPlatforms({ packages: { "": {}, "node_modules/x": wanting } });
    expect(lock.packages["node_modules/@x/cli-windows-arm64"]).toEqual({
      version: "1.0.0",
      cpu: ["arm64"],
      dev: true,
      optional: true,
      os: ["win32"],
    });
    expect(missingPlatforms(lock)).toEqual([]);
  });

  it("tells the C libraries of Linux apart", () => {
    const optionalDependencies = { "x-linux-x64-musl": "1.0.0", "x-linux-x64-gnu": "1.0.0" };
    const { packages } = withMissingPlatforms({ packages: { "node_modules/x": { optionalDependencies } } });
    expect(packages["node_modules/x-linux-x64-musl"]?.libc).toEqual(["musl"]);
    expect(packages["node_modules/x-linux-x64-gnu"]?.libc).toEqual(["glibc"]);
  });

  it("finds what lies inside the package that wants it", () => {
    const inside = "node_modules/a/node_modules/x";
    const packages = { [inside]: wanting, [`${inside}/node_modules/@x/cli-windows-arm64`]: { version: "1.0.0" } };
    expect(missingPlatforms({ packages })).toEqual([]);
  });

  it("refuses a package whose name says no platform: it would be installed everywhere", () => {
    const packages = { "node_modules/x": { optionalDependencies: { fsevents: "2.3.3" } } };
    expect(() => withMissingPlatforms({ packages })).toThrow("names no platform");
  });
});
