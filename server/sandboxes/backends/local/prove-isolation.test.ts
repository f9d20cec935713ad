import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createLocalIsolations } from "./local-isolations.ts";
import { type IsolationTrial, proveIsolation } from "./prove-isolation.ts";

const withoutBubblewrap = process.env.DORMOUSE_TEST_WITHOUT_BUBBLEWRAP === "1";
const directories: string[] = [];
afterEach(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
});

/** A search path on which `bwrap` is this shell script, or is missing. */
async function searchPathWith(script: string | null): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "dormouse-bwrap-"));
  directories.push(directory);
  await chmod(directory, 0o755);
  if (script) await writeFile(join(directory, "bwrap"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return directory;
}

const probe = (options: Partial<IsolationTrial>) =>
  proveIsolation({ searchPath: "/usr/bin:/bin", signal: AbortSignal.timeout(25_000), ...options });

const modern =
  'case "$1" in --help) echo "--bind-fd --disable-userns"; exit;; --version) echo "bubblewrap 9.9"; exit;; esac';

describe("proving the isolation", () => {
  it.skipIf(withoutBubblewrap)("finds bubblewrap and a tight sandbox, and leaves nothing behind", async () => {
    const before = await probeDirectories();
    expect(await probe({})).toEqual({
      bubblewrap: expect.objectContaining({ path: expect.stringMatching(/bwrap$/) }),
      detail: expect.stringMatching(/^bubblewrap \d+\.\d+/),
    });
    // Those of others on this machine go by themselves; one that was left would stay.
    const made = async () => (await probeDirectories()).filter((name) => !before.includes(name));
    await expect.poll(made, { timeout: 20_000 }).toEqual([]);
  });

  it("says what to install when bubblewrap is absent", async () => {
    const found = await probe({ searchPath: await searchPathWith(null) });
    expect(found).toEqual({ reason: expect.stringContaining("Install the package bubblewrap") });
  });

  it("says that bubblewrap is too old when it cannot bind by descriptor", async () => {
    const searchPath = await searchPathWith('test "$1" = --version && echo "bubblewrap 0.4.0" || echo "--ro-bind"');
    expect(await probe({ searchPath })).toEqual({ reason: expect.stringContaining("0.4.0) is too old") });
  });

  it("calls a bubblewrap that always fails broken", async () => {
    const found = await probe({ searchPath: await searchPathWith("exit 1") });
    expect(found).toEqual({ reason: expect.stringContaining("(unknown version) is too old or broken") });
  });

  it("repeats what a forbidden bubblewrap complains of", async () => {
    const searchPath = await searchPathWith(
      `${modern}; echo "bwrap: No permissions to create new namespace" >&2; exit 1`,
    );
    const found = await probe({ searchPath });
    expect(found).toEqual({ reason: expect.stringContaining("No permissions to create new namespace") });
  });

  it.skipIf(withoutBubblewrap)("refuses a sandbox that is not tight", async () => {
    const searchPath = await searchPathWith(
      'for word; do shift; test "$word" = --unshare-net || set -- "$@" "$word"; done; exec /usr/bin/bwrap "$@"',
    );
    const found = await probe({ searchPath });
    expect(found).toMatchObject({ reason: expect.stringContaining("not fully isolated") });
    expect(found).toMatchObject({ reason: expect.stringContaining("it shares the host's net namespace") });
    expect(found).toMatchObject({ reason: expect.stringContaining("it reaches the host's loopback") });
  });

  it.each([
    ["when asked for its version", "sleep 300"],
    ["in the trial, with a child that keeps its output open", `${modern}; sleep 300 & sleep 300`],
    ["in the trial, though its first process ended", `${modern}; sleep 300 & exit 1`],
  ])("keeps the deadline when bubblewrap hangs %s", async (_, script) => {
    const searchPath = await searchPathWith(script);
    // It would outlast the test otherwise.
    expect(await probe({ searchPath, deadlineMilliseconds: 1_000 })).toHaveProperty("reason");
  });

  it("gives up when whoever asked is stopping", async () => {
    const signal = AbortSignal.timeout(200);
    await expect(probe({ searchPath: await searchPathWith("sleep 300"), signal })).rejects.toThrow();
  });
});

describe("what is offered", () => {
  const signal = () => AbortSignal.timeout(5_000);
  const bubblewrap = { path: "/usr/bin/bwrap", version: "9.9", disableUserns: true };
  const holds = async () => ({ bubblewrap, detail: "tried" });
  const fails = async () => ({ reason: "Install it." });
  const offered = async (wanted: "auto" | "sandboxed" | "host", prove: typeof holds | typeof fails) => {
    const isolations = createLocalIsolations({ wanted, searchPath: "", prove });
    return (await isolations.list(signal())).map(({ name, available }) => `${name} ${available ? "yes" : "no"}`);
  };

  it("follows from the trial and from what was configured", async () => {
    expect(await offered("auto", holds)).toEqual(["sandboxed yes", "host yes"]);
    expect(await offered("auto", fails)).toEqual(["sandboxed no", "host yes"]);
    expect(await offered("sandboxed", holds)).toEqual(["sandboxed yes", "host no"]);
    expect(await offered("sandboxed", fails)).toEqual(["sandboxed no", "host no"]);
    expect(await offered("host", holds)).toEqual(["sandboxed no", "host yes"]);
  });

  it("says why something is not, and who wanted it so", async () => {
    const [sandboxed] = await createLocalIsolations({ wanted: "sandboxed", searchPath: "", prove: fails }).list(
      signal(),
    );
    expect(sandboxed).toMatchObject({
      reason: expect.stringMatching(/^DORMOUSE_ISOLATION is sandboxed.* Install it\.$/),
    });
    const [chosen] = await createLocalIsolations({ wanted: "host", searchPath: "", prove: holds }).list(signal());
    expect(chosen).toMatchObject({ reason: expect.stringContaining("DORMOUSE_ISOLATION=host") });
  });

  it("is proved once, and tried again only when the trial itself was cut off", async () => {
    let trials = 0;
    const prove = async () => {
      trials += 1;
      if (trials === 1) throw new Error("stopping");
      return { bubblewrap, detail: "tried" };
    };
    const isolations = createLocalIsolations({ wanted: "auto", searchPath: "", prove });
    await expect(isolations.list(signal())).rejects.toThrow("stopping");
    await isolations.list(signal());
    expect(await isolations.require("sandboxed", signal())).toEqual({ name: "sandboxed", bubblewrap });
    expect(trials).toBe(2);
  });

  it("is all there is: nothing falls back", async () => {
    const isolations = createLocalIsolations({ wanted: "auto", searchPath: "", prove: fails });
    for (const name of ["sandboxed", "another"]) {
      await expect(isolations.require(name, signal())).rejects.toMatchObject({ kind: "unavailable" });
    }
    const strict = createLocalIsolations({ wanted: "sandboxed", searchPath: "", prove: holds });
    await expect(strict.require("host", signal())).rejects.toMatchObject({ kind: "unavailable" });
  });
});

async function probeDirectories(): Promise<string[]> {
  return (await readdir("/tmp")).filter((name) => name.startsWith("dormouse-probe-"));
}
