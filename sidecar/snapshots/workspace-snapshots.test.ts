import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeEntry } from "../../server/protocol/archive/encode-entry.ts";
import { rawNameOf } from "../../server/protocol/archive/raw-name.ts";
import { workspaceLimits } from "../../server/protocol/limits.ts";
import { createSidecarArchives, type SidecarArchives } from "../../server/snapshots/sidecar-archives.ts";
import { archiveOf, chunksOf, run, withFolder } from "../archive/test-archives.ts";
import { createTestSandbox, deadline, type TestBoot, type TestSandbox, waitUntil } from "../test-sidecar.ts";

describe("workspace snapshots", () => {
  let sandbox: TestSandbox;
  let boot: TestBoot;
  let archives: SidecarArchives;
  beforeAll(async () => {
    sandbox = await createTestSandbox();
    await bootAgain();
  });
  afterAll(() => sandbox?.remove());

  async function bootAgain(): Promise<void> {
    boot = await sandbox.boot();
    archives = createSidecarArchives(boot.client);
  }

  async function open(): Promise<{ id: string; directory: string }> {
    const id = randomUUID();
    const { directory } = await boot.client.prepareWorkspace(id, deadline());
    return { id, directory };
  }

  async function gather(body: AsyncIterable<Buffer>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  const create = (sessionId: string, changes: { unless?: string } = {}) =>
    archives.createWorkspace({ sessionId, sink: gather, signal: deadline(), ...changes });
  const restore = (sessionId: string, bytes: Uint8Array) =>
    archives.restoreWorkspace({ sessionId, body: chunksOf(bytes), signal: deadline() });

  async function taken(sessionId: string) {
    const made = await create(sessionId);
    if (made.outcome !== "made") throw new Error(`not made: ${made.outcome}`);
    return made;
  }

  async function listed(archive: Buffer): Promise<string[]> {
    let names: string[] = [];
    await withFolder(async (folder) => {
      await writeFile(join(folder, "a"), archive);
      names = (await run("tar", ["tzf", join(folder, "a")])).stdout.trim().split("\n");
    });
    return names;
  }

  it("bring back what people and agent made, with the repository, in another life", async () => {
    const { id, directory } = await open();
    await writeFile(join(directory, "outputs/page.html"), "<h1>");
    await writeFile(join(directory, "notes.md"), "notes");
    const commit = (await run("git", ["-C", directory, "rev-parse", "HEAD"])).stdout;
    const { stored, note } = await taken(id);
    expect(note).toMatchObject({ changed: 0, fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) });
    await boot.client.removeWorkspace(id, deadline());
    const restored = await restore(id, stored);
    expect(await readFile(join(directory, "outputs/page.html"), "utf8")).toBe("<h1>");
    expect((await run("git", ["-C", directory, "rev-parse", "HEAD"])).stdout).toBe(commit);
    expect((await run("git", ["-C", directory, "fsck", "--full"])).stderr).not.toContain("error");
    expect(restored.entries).toBe(note.entries + 1);
    expect((await boot.client.prepareWorkspace(id, deadline())).directory).toBe(directory);
    expect(await create(id, { unless: restored.fingerprint })).toEqual({ outcome: "unchanged" });
  });

  it("leave out managed links and what can be made again, and name it", async () => {
    const { id, directory } = await open();
    await writeFile(join(directory, "index.js"), "");
    for (const name of ["node_modules/x", "outputs/app/.next", ".venv/bin", "env/bin", "target/debug", ".opencode"]) {
      await mkdir(join(directory, name), { recursive: true });
      await writeFile(join(directory, name, "file"), "regenerable");
    }
    await writeFile(join(directory, ".venv/pyvenv.cfg"), "");
    await writeFile(join(directory, "target/CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55");
    await symlink(join(sandbox.workspace, "skills"), join(directory, ".opencode/skills"));
    await mkdir(join(directory, ".git/refs/heads/node_modules"), { recursive: true });
    await writeFile(join(directory, ".git/refs/heads/node_modules/branch"), "x");
    const { stored, note } = await taken(id);
    const names = await listed(stored);
    expect(names).toEqual(
      expect.arrayContaining([
        "workspace/index.js",
        "workspace/env/bin/file",
        "workspace/.git/refs/heads/node_modules/branch",
        "workspace/.opencode/file",
        "workspace/outputs/app/",
      ]),
    );
    expect(names.filter((name) => /\/(node_modules\/x|\.next|\.venv|target|skills)/.test(name))).toEqual([]);
    expect(names.filter((name) => name.includes(".opencode-data"))).toEqual([]);
    expect(note.leftOut).toBe(5);
    await withFolder(async (folder) => {
      await writeFile(join(folder, "a"), stored);
      const manifest = JSON.parse((await run("tar", ["xzOf", join(folder, "a"), "manifest.json"])).stdout);
      expect(manifest.leftOut).toEqual(
        expect.arrayContaining([
          { path: "node_modules", reason: "regenerable" },
          { path: "target", reason: "regenerable" },
          { path: ".opencode/skills", reason: "managed-link" },
        ]),
      );
    });
  });

  it("are not made again while nothing has changed", async () => {
    const { id, directory } = await open();
    await writeFile(join(directory, "a"), "a");
    let fingerprint = "";
    await waitUntil(async () => {
      const { note } = await taken(id);
      fingerprint = note.fingerprint;
      return (await create(id, { unless: fingerprint })).outcome === "unchanged";
    }, "a steady workspace");
    expect((await archives.workspaceState(id, deadline())).fingerprint).toBe(fingerprint);
    // What is left out is no change.
    await mkdir(join(directory, "node_modules"));
    await writeFile(join(directory, "node_modules/x"), "");
    expect((await create(id, { unless: fingerprint })).outcome).toBe("unchanged");
    await writeFile(join(directory, "a"), "b");
    expect((await create(id, { unless: fingerprint })).outcome).toBe("made");
  });

  it("that would be too large are refused, with the heaviest files named", async () => {
    const { id, directory } = await open();
    // A file of holes: it has its size without taking the space.
    await writeFile(join(directory, "outputs/video.mp4"), "");
    await truncate(join(directory, "outputs/video.mp4"), workspaceLimits.maxBytes + 1);
    await writeFile(join(directory, "small"), "x");
    await expect(create(id)).rejects.toMatchObject({
      kind: "too-large",
      message: expect.stringMatching(/is 4 GB, over the limit of 4 GB .*outputs\/video\.mp4 \(4 GB\)/),
    });
    await truncate(join(directory, "outputs/video.mp4"), 3_000_000);
    expect((await create(id)).outcome).toBe("made");
  });

  it("of an empty workspace are none (invariant 21)", async () => {
    const { id, directory } = await open();
    expect(await create(id)).toEqual({ outcome: "empty" });
    await writeFile(join(directory, "a"), "a");
    expect((await create(id)).outcome).toBe("made");
    await run("git", ["-C", directory, "add", "a"]);
    await rm(join(directory, "a"));
    // What was given to git is in there still.
    expect((await create(id)).outcome).toBe("made");
  });

  it("of a workspace that is not there, or of no session at all, are refused", async () => {
    const { id, directory } = await open();
    await rm(directory, { recursive: true });
    await expect(create(id)).rejects.toMatchObject({ kind: "not-found" });
    await expect(create(randomUUID())).rejects.toMatchObject({ kind: "conflict" });
    await expect(create("../managed")).rejects.toMatchObject({ kind: "invalid-input" });
  });

  it("of a directory that nobody created or restored in this life are refused (invariant 21)", async () => {
    const id = randomUUID();
    await mkdir(join(sandbox.workspace, "sessions", id));
    await writeFile(join(sandbox.workspace, "sessions", id, "a"), "a");
    await boot.client.prepareWorkspace(id, deadline());
    await expect(create(id)).rejects.toMatchObject({ kind: "conflict" });
    await expect(archives.adoptWorkspace({ sessionId: id, signal: deadline() })).rejects.toMatchObject({
      kind: "conflict",
    });
    expect(await archives.workspaceState(id, deadline())).toMatchObject({ exists: true, life: "none" });
  });

  it("of an earlier life's workspace are made once it was adopted", async () => {
    const { id, directory } = await open();
    await writeFile(join(directory, "a"), "a");
    boot.child.kill("SIGKILL");
    await once(boot.child, "exit");
    await bootAgain();
    await boot.client.prepareWorkspace(id, deadline());
    await expect(create(id)).rejects.toMatchObject({ kind: "conflict" });
    const state = await archives.workspaceState(id, deadline());
    expect(state).toMatchObject({ exists: true, life: "earlier" });
    const signal = deadline();
    await expect(archives.adoptWorkspace({ sessionId: id, fingerprint: "other", signal })).rejects.toMatchObject({
      kind: "conflict",
    });
    await archives.adoptWorkspace({ sessionId: id, fingerprint: state.fingerprint ?? "", signal });
    expect((await create(id)).outcome).toBe("made");
    expect(await archives.workspaceState(id, deadline())).toMatchObject({ life: "this" });
  });

  it("replace what is there, as a whole, and are refused as a whole", async () => {
    const { id, directory } = await open();
    await writeFile(join(directory, "mine"), "mine");
    await expect(restore(id, archiveOf([{ name: "workspace/a" }, { name: "../b" }]))).rejects.toMatchObject({
      kind: "invalid-input",
    });
    await expect(restore(id, archiveOf([{ name: ".opencode-data/x" }]))).rejects.toMatchObject({
      kind: "invalid-input",
    });
    const huge = { kind: "file", size: workspaceLimits.maxBytes + 1, mode: 0o644, modifiedAt: 0, target: "" } as const;
    const claimed = gzipSync(encodeEntry({ ...huge, name: rawNameOf("workspace/huge") }));
    await expect(restore(id, claimed)).rejects.toMatchObject({ kind: "too-large" });
    expect(await readFile(join(directory, "mine"), "utf8")).toBe("mine");
    const large = archiveOf([{ name: "workspace/zeros", content: Buffer.alloc(20_000_000) }]);
    expect((await restore(id, large)).bytes).toBe(20_000_000);
    expect((await stat(join(directory, "zeros"))).size).toBe(20_000_000);
    expect(await readdir(directory)).toEqual(["zeros"]);
    expect((await readdir(join(sandbox.workspace, "sessions"))).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("are remembered by the disk that they were made of, by then at the latest that they are complete", async () => {
    const { id, directory } = await open();
    await writeFile(join(directory, "mine"), "mine");
    const known = async () => (await archives.workspaceState(id, deadline())).known;
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const made = await archives.createWorkspace({ sessionId: id, archiveId: first, sink: gather, signal: deadline() });
    expect(made).toMatchObject({ note: { remembered: true } });
    expect(await known()).toEqual([first]);
    const failing = async (body: AsyncIterable<Buffer>) => {
      for await (const _chunk of body) throw new Error("no space");
      return Buffer.of();
    };
    await writeFile(join(directory, "large"), randomBytes(4_000_000));
    const cut = archives.createWorkspace({ sessionId: id, archiveId: second, sink: failing, signal: deadline() });
    await expect(cut).rejects.toThrow("no space");
    expect(await known()).toEqual([first]);
    // Without a name it is an archive all the same.
    await rm(join(directory, "large"));
    const { note, stored } = await taken(id);
    expect(note.remembered).toBe(false);
    await archives.restoreWorkspace({ sessionId: id, body: chunksOf(stored), knows: third, signal: deadline() });
    expect(await known()).toEqual([third, first]);
    await boot.client.removeWorkspace(id, deadline());
    expect(await known()).toEqual([]);
    await expect(
      archives.restoreWorkspace({ sessionId: id, body: chunksOf(stored), knows: "../x", signal: deadline() }),
    ).rejects.toMatchObject({ kind: "invalid-input" });
  });

  it("set aside what they replace where that is asked for, until the session goes", async () => {
    const { id, directory } = await open();
    const archive = archiveOf([{ name: "workspace/theirs", content: "theirs" }]);
    for (const words of ["first", "second", "third"]) {
      await writeFile(join(directory, "mine"), words);
      await archives.restoreWorkspace({ sessionId: id, body: chunksOf(archive), keep: true, signal: deadline() });
      expect(await readdir(directory)).toEqual(["theirs"]);
    }
    const folder = join(sandbox.workspace, "managed/replaced", id);
    const kept = (await readdir(folder)).sort();
    const words = await Promise.all(kept.map((name) => readFile(join(folder, name, "mine"), "utf8")));
    expect(words).toEqual(["second", "third"]);
    // A refused one sets nothing aside.
    const refused = chunksOf(archiveOf([{ name: "../b" }]));
    await expect(
      archives.restoreWorkspace({ sessionId: id, body: refused, keep: true, signal: deadline() }),
    ).rejects.toMatchObject({ kind: "invalid-input" });
    expect(await readdir(directory)).toEqual(["theirs"]);
    expect((await readdir(folder)).sort()).toEqual(kept);
    await boot.client.removeWorkspace(id, deadline());
    await expect(stat(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("are made beside a workspace that is prepared, looked at and changed", async () => {
    const { id, directory } = await open();
    // More than all buffers on the way hold: it goes on until it is read to its end.
    await writeFile(join(directory, "large.bin"), randomBytes(24_000_000));
    await writeFile(join(directory, "z.txt"), "before");
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const making = archives.createWorkspace({
      sessionId: id,
      signal: deadline(),
      async sink(body) {
        const chunks: Buffer[] = [];
        for await (const chunk of body) {
          chunks.push(chunk);
          begun.resolve();
          await released.promise;
        }
        return Buffer.concat(chunks);
      },
    });
    await begun.promise;
    expect(await boot.client.prepareWorkspace(id, deadline())).toEqual({ directory });
    expect(await archives.workspaceState(id, deadline())).toMatchObject({ life: "this" });
    await archives.adoptWorkspace({ sessionId: id, knows: randomUUID(), signal: deadline() });
    const file = (verb: string, name: string) => `/files/${verb}?path=sessions/${id}/${name}`;
    await boot.client.send({ method: "PUT", path: file("write", "new.txt"), body: "new", signal: deadline() });
    const json = { from: `sessions/${id}/new.txt`, to: `sessions/${id}/newer.txt` };
    await boot.client.json({ method: "POST", path: "/files/move", json, signal: deadline() });
    await boot.client.json({ method: "DELETE", path: file("delete", "z.txt"), signal: deadline() });
    released.resolve();
    const made = await making;
    if (made.outcome !== "made") throw new Error(made.outcome);
    await restore(id, made.stored);
    expect((await stat(join(directory, "large.bin"))).size).toBe(24_000_000);
  });

  it("that are being restored are waited for, as long as whoever waits wants, and changes are refused", async () => {
    const { id, directory } = await open();
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const archive = archiveOf([{ name: "workspace/theirs", content: "x".repeat(100_000) }]);
    const slow = (async function* () {
      yield archive.subarray(0, 300);
      begun.resolve();
      await released.promise;
      yield archive.subarray(300);
    })();
    const restoring = archives.restoreWorkspace({ sessionId: id, body: slow, signal: deadline() });
    await begun.promise;
    const staging = join(sandbox.workspace, "sessions", `.dormouse-${id}.new`);
    await waitUntil(async () => (await stat(staging).catch(() => null)) !== null, "the staging");
    const leaving = new AbortController();
    const left = boot.client.prepareWorkspace(id, leaving.signal);
    const waiting = boot.client.prepareWorkspace(id, deadline());
    leaving.abort();
    await expect(left).rejects.toThrow();
    const change = { method: "PUT", path: `/files/write?path=sessions/${id}/lost.txt`, body: "x", signal: deadline() };
    expect((await boot.client.send({ ...change, method: "PUT" })).status).toBe(409);
    await expect(create(id)).rejects.toMatchObject({ kind: "conflict" });
    expect(await readdir(directory)).not.toContain("theirs");
    released.resolve();
    await restoring;
    await waiting;
    expect((await readdir(directory)).sort()).toEqual([".git", "attachments", "outputs", "theirs"]);
  });

  it("that were being restored when the sidecar was killed leave the old workspace", async () => {
    const { id, directory } = await open();
    await writeFile(join(directory, "mine"), "mine");
    const begun = Promise.withResolvers<void>();
    const stuck = (async function* () {
      yield archiveOf([{ name: "workspace/theirs", content: "x".repeat(100_000) }]).subarray(0, 300);
      begun.resolve();
      await once(deadline(), "abort").catch(() => {});
      yield Buffer.alloc(0);
    })();
    const sending = archives.restoreWorkspace({ sessionId: id, body: stuck, signal: deadline() });
    sending.catch(() => {});
    await begun.promise;
    const staging = join(sandbox.workspace, "sessions", `.dormouse-${id}.new`);
    await waitUntil(async () => (await stat(staging).catch(() => null)) !== null, "the staging");
    await expect(create(id)).rejects.toMatchObject({ kind: "conflict" });
    const exited = once(boot.child, "exit");
    boot.child.kill("SIGKILL");
    await expect(sending).rejects.toMatchObject({ kind: "unavailable" });
    await exited;
    await bootAgain();
    expect(await readdir(directory)).toContain("mine");
    expect((await readdir(join(sandbox.workspace, "sessions"))).filter((name) => name.startsWith("."))).toEqual([]);
  });
});
