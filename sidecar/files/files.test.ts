import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createParser } from "eventsource-parser";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FileEntry, fileList, filesChanged } from "../../server/protocol/sidecar.ts";
import { createTestSandbox, deadline, type TestBoot, type TestSandbox, waitUntil } from "../test-sidecar.ts";

describe("the files of a sandbox", () => {
  let sandbox: TestSandbox;
  let boot: TestBoot;
  let session: string;
  let directory: string;
  beforeAll(async () => {
    sandbox = await createTestSandbox();
    boot = await sandbox.boot();
    const id = randomUUID();
    session = `sessions/${id}`;
    directory = (await boot.client.prepareWorkspace(id, deadline())).directory;
  });
  afterAll(() => sandbox?.remove());

  const at = (route: string, path: string) => `/files/${route}?path=${encodeURIComponent(path)}`;
  const list = async (path: string) =>
    fileList.parse(await boot.client.json({ method: "GET", path: at("list", path), signal: deadline() }));
  const write = (path: string, body: string | Uint8Array) =>
    boot.client.send({ method: "PUT", path: at("write", path), body, signal: deadline() });
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await boot.client.send({ method: "GET", path: at("read", path), headers, signal: deadline() });
    const chunks: Buffer[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    return { ...answer, bytes: Buffer.concat(chunks) };
  };
  const move = (from: string, to: string, replace = false) =>
    boot.client.send({
      method: "POST",
      path: "/files/move",
      body: JSON.stringify({ from, to, replace }),
      signal: deadline(),
    });

  it("begin with a git repository whose root commit is the session's own", async () => {
    const id = session.slice("sessions/".length);
    const commits = () => promisify(execFile)("git", ["-C", directory, "rev-list", "--all"]);
    const { stdout: first } = await commits();
    expect(first.trim().split("\n")).toHaveLength(1);
    await Promise.all([boot.client.prepareWorkspace(id, deadline()), boot.client.prepareWorkspace(id, deadline())]);
    expect((await commits()).stdout).toBe(first);
    expect((await list(session)).entries.map(({ name }) => name)).toEqual([".git", "attachments", "outputs"]);
    const other = await boot.client.prepareWorkspace(randomUUID(), deadline());
    const { stdout } = await promisify(execFile)("git", ["-C", other.directory, "rev-list", "--all"]);
    expect(stdout).not.toBe(first);
    await boot.client.removeWorkspace(id, deadline());
    await boot.client.prepareWorkspace(id, deadline());
    expect((await commits()).stdout).toBe(first);
  });

  it.each([
    "plain.txt",
    "with blank & sign?.txt",
    "übergrößé.txt",
    "日本語/ファイル.txt",
    "emoji-🐭.md",
    "..dots..",
    "a%2e%2e",
    "%ff 100%.txt",
    "#hash?&+=;,'\"\\`$.txt",
    "line\nbreak\r\ttab.txt",
    "-rf",
    " blanks ",
    "\u202etxt.exe",
    "zero\u200bwidth\ufeff",
    "decomposed e\u0301",
    "constructor",
    "caf\ufffde9.txt",
    "\ufffdff\ufffdfe/\ufffd80",
    "\ufffdef\ufffdbf\ufffdbd real",
  ])("are written whole, read, listed, moved and deleted under the name %j", async (name) => {
    const path = `${session}/outputs/${name}`;
    expect((await write(path, `content of ${name}`)).status).toBe(200);
    expect((await read(path)).bytes.toString()).toBe(`content of ${name}`);
    const entry = await boot.client.json<FileEntry>({ method: "GET", path: at("stat", path), signal: deadline() });
    expect(entry).toMatchObject({ path, kind: "file", size: Buffer.byteLength(`content of ${name}`) });
    const folder = path.slice(0, path.lastIndexOf("/"));
    expect((await list(folder)).entries.map((listed) => listed.path)).toContain(path);
    expect((await move(path, `${path} moved`)).status).toBe(200);
    expect((await read(path)).status).toBe(404);
    expect((await read(`${path} moved`)).bytes.toString()).toBe(`content of ${name}`);
    const remove = { method: "DELETE", path: at("delete", `${path} moved`), signal: deadline() } as const;
    expect((await boot.client.send(remove)).status).toBe(200);
    expect((await list(folder)).entries.map((listed) => listed.path)).not.toContain(`${path} moved`);
  });

  it("whose names look alike, or are no UTF-8, are each their own", async () => {
    const folder = join(directory, "alike");
    await mkdir(folder);
    const names = ["a\u00e9", "ae\u0301", "a\ufffd", "a\ufffde9", "a\\xe9", "a%E9"].map((name) => Buffer.from(name));
    names.push(Buffer.from([0x61, 0xe9]), Buffer.from([0x61, 0xe8]), Buffer.from([0x61, 0xc3]));
    const pathOf = (name: Buffer) => Buffer.concat([Buffer.from(`${folder}/`), name]);
    for (const name of names) await writeFile(pathOf(name), name);
    const { entries } = await list(`${session}/alike`);
    expect(new Set(entries.map(({ path }) => path)).size).toBe(names.length);
    const contents = await Promise.all(entries.map(async ({ path }) => (await read(path)).bytes.toString("hex")));
    expect(contents.sort()).toEqual(names.map((name) => name.toString("hex")).sort());
    expect(entries.map(({ name }) => name)).toContain("a\ufffde9");
    expect(entries.map(({ name }) => name)).toContain("a\ufffdef\ufffdbf\ufffdbd");
    // Only as it is listed.
    expect((await read(`${session}/alike/a\ufffd`)).status).toBe(400);
    await move(`${session}/alike/a\ufffde9`, `${session}/alike/renamed`);
    expect(await readFile(join(folder, "renamed"))).toEqual(Buffer.from([0x61, 0xe9]));
    expect((await list(`${session}/alike`)).entries).toHaveLength(names.length);
  });

  it("are read in ranges", async () => {
    const path = `${session}/outputs/range.txt`;
    await write(path, "0123456789");
    const cases = { "bytes=2-4": "234", "bytes=7-": "789", "bytes=-2": "89", "bytes=5-99": "56789" };
    for (const [range, expected] of Object.entries(cases)) {
      const { status, bytes, headers } = await read(path, { range });
      expect({ range, status, text: bytes.toString() }).toEqual({ range, status: 206, text: expected });
      expect(headers["content-range"]).toMatch(/\/10$/);
    }
    expect((await read(path, { range: "bytes=20-30" })).status).toBe(400);
    await write(path, "");
    expect((await read(path)).bytes).toHaveLength(0);
  });

  it("may be larger than any body that is held in memory", async () => {
    const path = `${session}/outputs/large.bin`;
    const body = Buffer.alloc(48 * 1024 * 1024, "dormouse");
    expect((await write(path, body)).status).toBe(200);
    expect((await read(path)).bytes.equals(body)).toBe(true);
  });

  it("are moved and deleted, and replaced only when that is asked for", async () => {
    await write(`${session}/a.txt`, "a");
    await write(`${session}/b.txt`, "b");
    expect((await move(`${session}/a.txt`, `${session}/b.txt`)).status).toBe(409);
    expect((await move(`${session}/a.txt`, `${session}/b.txt`, true)).status).toBe(200);
    expect((await move(`${session}/b.txt`, `${session}/new/c.txt`)).status).toBe(200);
    expect((await read(`${session}/new/c.txt`)).bytes.toString()).toBe("a");
    const remove = { method: "DELETE", path: at("delete", `${session}/new`), signal: deadline() } as const;
    expect((await boot.client.send(remove)).status).toBe(200);
    expect((await boot.client.send(remove)).status).toBe(404);
    expect((await boot.client.send({ ...remove, path: at("delete", session) })).status).toBe(403);
  });

  it("are listed up to a bound", async () => {
    await mkdir(join(directory, "many"));
    for (let index = 0; index < 2_005; index += 1) await writeFile(join(directory, "many", `f${index}`), "");
    const { entries, truncated } = await list(`${session}/many`);
    expect({ length: entries.length, truncated }).toEqual({ length: 2_000, truncated: true });
  });

  it.each([
    ["", 400],
    ["/etc/passwd", 400],
    ["../../etc/passwd", 400],
    ["sessions/../managed/opencode.json", 400],
    ["sessions/./x", 400],
    ["sessions//x", 400],
    ["sessions/x\0y", 400],
    ["managed/agent.json", 404],
    ["home/.config", 404],
    ["opencode-data/opencode/opencode.db", 404],
    [`sessions/${"x/".repeat(100)}y`, 400],
    [`sessions/${"ü".repeat(200)}`, 400],
    ["sessions", 400],
  ])("cannot be reached as %j", async (path, status) => {
    expect((await read(path)).status).toBe(status);
    expect((await write(path, "x")).status).toBeGreaterThanOrEqual(400);
    expect((await move(path, `${session}/stolen`)).status).toBeGreaterThanOrEqual(400);
  });

  it("do not lead out through links, whatever is asked of them", async () => {
    const secret = join(sandbox.workspace, "managed", "secret");
    await writeFile(secret, "secret");
    const other = await boot.client.prepareWorkspace(randomUUID(), deadline());
    await writeFile(join(other.directory, "theirs"), "theirs");
    await symlink(secret, join(directory, "to-file"));
    await symlink(join(sandbox.workspace, "managed"), join(directory, "to-managed"));
    await symlink("/", join(directory, "to-root"));
    await symlink("../..", join(directory, "to-parent"));
    await symlink(other.directory, join(directory, "to-other"));
    await symlink("outputs", join(directory, "to-outputs"));
    const paths = ["to-file", "to-managed/secret", "to-root/etc/passwd", "to-parent/managed/secret", "to-other/theirs"];
    for (const path of paths) {
      expect({ path, status: (await read(`${session}/${path}`)).status }).toEqual({ path, status: 403 });
      if (path === "to-file") continue;
      expect((await write(`${session}/${path}`, "x")).status).toBe(403);
      expect((await move(`${session}/${path}`, `${session}/stolen`)).status).toBe(403);
      const remove = { method: "DELETE", path: at("delete", `${session}/${path}`), signal: deadline() } as const;
      expect((await boot.client.send(remove)).status).toBe(403);
    }
    await expect(list(`${session}/to-managed`)).rejects.toMatchObject({ kind: "forbidden" });
    // Within the session a link to a directory is as good as the directory.
    await write(`${session}/to-outputs/inside.txt`, "inside");
    expect((await read(`${session}/outputs/inside.txt`)).bytes.toString()).toBe("inside");
    // Writing replaces a link at the end, and removes the link and not what it leads to.
    expect((await write(`${session}/to-file`, "mine")).status).toBe(200);
    await boot.client.send({ method: "DELETE", path: at("delete", `${session}/to-managed`), signal: deadline() });
    expect(await readFile(secret, "utf8")).toBe("secret");
    expect((await list(session)).entries.find(({ name }) => name === "to-root")?.kind).toBe("link");
  });

  it("do not lead out when the session's directory itself becomes a link", async () => {
    const id = randomUUID();
    await symlink(join(sandbox.workspace, "managed"), join(sandbox.workspace, "sessions", id));
    expect((await read(`sessions/${id}/secret`)).status).toBe(403);
    await expect(list(`sessions/${id}`)).rejects.toMatchObject({ kind: "forbidden" });
  });

  it("that are pipes, or not there, are refused at once", async () => {
    await promisify(execFile)("mkfifo", [join(directory, "pipe")]);
    expect((await read(`${session}/pipe`)).status).toBe(400);
    expect((await read(`${session}/outputs`)).status).toBe(400);
    expect((await read(`${session}/nothing`)).status).toBe(404);
    expect((await write(`${session}/outputs`, "x")).status).toBe(409);
  });

  it("are watched: changes below the folder are told, those of tools are not", async () => {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, deadline()]);
    const answer = await boot.client.send({ method: "GET", path: at("watch", session), signal });
    const told: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => told.push(...filesChanged.parse(JSON.parse(data)).paths) });
    const reading = (async () => {
      for await (const chunk of answer.body) {
        parser.feed(String(chunk));
        if (told.includes(`${session}/last`)) return;
      }
    })();
    await mkdir(join(directory, "node_modules/x"), { recursive: true });
    await writeFile(join(directory, "node_modules/x/index.js"), "");
    await writeFile(join(directory, ".git/x"), "");
    await writeFile(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xe9, 0x0a])]), "");
    await waitUntil(() => told.includes(`${session}/\ufffde9\n`), "the file whose name is no UTF-8");
    await mkdir(join(directory, "deep/deeper"), { recursive: true });
    await writeFile(join(directory, "deep/deeper/file"), "");
    await writeFile(join(directory, "outputs/changed"), "");
    await waitUntil(() => told.includes(`${session}/deep/deeper/file`), "the file in a new folder");
    await rm(join(directory, "deep"), { recursive: true });
    await mkdir(join(directory, "deep"));
    await waitUntil(() => told.filter((path) => path === `${session}/deep`).length > 1, "the folder made anew");
    await writeFile(join(directory, "deep/again"), "");
    await waitUntil(() => told.includes(`${session}/deep/again`), "a file in the folder made anew");
    await writeFile(join(directory, "temporary"), "");
    await rename(join(directory, "temporary"), join(directory, "last"));
    await reading;
    stop.abort();
    expect(told).toEqual(expect.arrayContaining([`${session}/deep`, `${session}/outputs/changed`]));
    expect(told.filter((path) => /node_modules|\.git/.test(path))).toEqual([]);
  });

  it("of a session are removed with it, also where its owner locked a folder", async () => {
    const id = randomUUID();
    const made = await boot.client.prepareWorkspace(id, deadline());
    await mkdir(join(made.directory, "locked/inner"), { recursive: true });
    await chmod(join(made.directory, "locked"), 0o500);
    const watching = await boot.client.send({ method: "GET", path: at("watch", `sessions/${id}`), signal: deadline() });
    await boot.client.removeWorkspace(id, deadline());
    await boot.client.removeWorkspace(id, deadline());
    expect((await read(`sessions/${id}/x`)).status).toBe(404);
    watching.body.resume();
    await once(watching.body, "end");
  });
});
