import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type IsolationProbe, probeIsolation } from "./isolation.ts";

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

const probe = (options: Partial<IsolationProbe>) =>
  probeIsolation({ wanted: "auto", searchPath: "/usr/bin:/bin", signal: AbortSignal.timeout(25_000), ...options });

const modern =
  'case "$1" in --help) echo "--bind-fd --disable-userns"; exit;; --version) echo "bubblewrap 9.9"; exit;; esac';

describe("proving the isolation", () => {
  it.skipIf(withoutBubblewrap)("finds bubblewrap and a tight sandbox, and leaves nothing behind", async () => {
    const before = await probeDirectories();
    expect(await probe({ wanted: "sandboxed" })).toEqual({
      kind: "sandboxed",
      detail: expect.stringMatching(/^bubblewrap \d+\.\d+/),
    });
    expect(await probeDirectories()).toEqual(before);
  });

  it("does not look for bubblewrap when the host was chosen", async () => {
    const chosen = await probe({ wanted: "host", searchPath: await searchPathWith("exit 1") });
    expect(chosen).toEqual({ kind: "host", reason: expect.stringContaining("DORMOUSE_ISOLATION=host") });
  });

  it("says what to install when bubblewrap is absent", async () => {
    const found = await probe({ searchPath: await searchPathWith(null) });
    expect(found).toEqual({ kind: "host", reason: expect.stringContaining("Install the package bubblewrap") });
  });

  it("says that bubblewrap is too old when it cannot bind by descriptor", async () => {
    const searchPath = await searchPathWith('test "$1" = --version && echo "bubblewrap 0.4.0" || echo "--ro-bind"');
    expect(await probe({ searchPath })).toEqual({ kind: "host", reason: expect.stringContaining("0.4.0) is too old") });
  });

  it("calls a bubblewrap that always fails broken", async () => {
    const found = await probe({ searchPath: await searchPathWith("exit 1") });
    expect(found).toEqual({ kind: "host", reason: expect.stringContaining("(unknown version) is too old or broken") });
  });

  it("repeats what a forbidden bubblewrap complains of", async () => {
    const searchPath = await searchPathWith(
      `${modern}; echo "bwrap: No permissions to create new namespace" >&2; exit 1`,
    );
    const found = await probe({ searchPath });
    expect(found).toEqual({ kind: "host", reason: expect.stringContaining("No permissions to create new namespace") });
  });

  it.skipIf(withoutBubblewrap)("refuses a sandbox that is not tight", async () => {
    const searchPath = await searchPathWith(
      'for word; do shift; test "$word" = --unshare-net || set -- "$@" "$word"; done; exec /usr/bin/bwrap "$@"',
    );
    const found = await probe({ searchPath });
    expect(found).toMatchObject({ kind: "host", reason: expect.stringContaining("not tight") });
    expect(found).toMatchObject({ reason: expect.stringContaining("it shares the host's net namespace") });
    expect(found).toMatchObject({ reason: expect.stringContaining("it reaches the host's loopback") });
  });

  it.each([
    ["when asked for its version", "sleep 300"],
    ["in the trial, with a child that keeps its output open", `${modern}; sleep 300 & sleep 300`],
    ["in the trial, though its first process ended", `${modern}; sleep 300 & exit 1`],
  ])("keeps the deadline when bubblewrap hangs %s", async (_, script) => {
    const searchPath = await searchPathWith(script);
    // Without its deadline it would outlast the test.
    expect(await probe({ searchPath, deadlineMilliseconds: 1_000 })).toMatchObject({ kind: "host" });
  });

  it("gives up when whoever asked is stopping", async () => {
    const signal = AbortSignal.timeout(200);
    await expect(probe({ searchPath: await searchPathWith("sleep 300"), signal })).rejects.toThrow();
  });
});

async function probeDirectories(): Promise<string[]> {
  return (await readdir("/tmp")).filter((name) => name.startsWith("dormouse-probe-"));
}
