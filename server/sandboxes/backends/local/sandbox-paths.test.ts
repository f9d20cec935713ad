import { randomBytes, randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ask, createSpec } from "../../test/test-sandbox.ts";
import { createSandboxPaths } from "./sandbox-paths.ts";
import { sandboxUid } from "./sandbox-uid.ts";
import { createTestBackend } from "./test/test-backend.ts";

const isRoot = process.getuid?.() === 0;
const made: string[] = [];
afterEach(async () => {
  for (const path of made.splice(0)) await rm(path, { recursive: true, force: true });
});

async function makeHome(...below: string[]): Promise<string> {
  const top = await mkdtemp("/tmp/dm-");
  made.push(top);
  await chmod(top, 0o711);
  const home = join(top, ...below);
  await mkdir(home, { recursive: true });
  return home;
}

describe("where a sandbox stands", () => {
  it("is its own: others of the machine can enter neither its files nor its sockets", async () => {
    const id = randomUUID();
    const paths = await createSandboxPaths(await makeHome()).make(id, "sandboxed");
    const uid = sandboxUid(id) ?? process.getuid?.();
    expect(await stat(paths.workspace)).toMatchObject({ uid, mode: 0o40700 });
    expect(await stat(paths.doorDirectory)).toMatchObject({ uid, mode: 0o40700 });
    expect(await stat(paths.serverDirectory)).toMatchObject({ uid: process.getuid?.(), mode: 0o40710 });
    expect(await stat(paths.directory)).toMatchObject({ uid: process.getuid?.(), mode: 0o40710 });
  });

  it("stays the same from one server to the next, and the files in it", async () => {
    const home = await makeHome();
    const id = randomUUID();
    const first = await createSandboxPaths(home).make(id, "sandboxed");
    const later = createSandboxPaths(home);
    expect(await later.make(id, "sandboxed")).toEqual(first);
    expect(await later.listIds()).toEqual([id]);
  });

  it("has sockets elsewhere when the home's path is too long for them, also after a restart", async () => {
    const home = await makeHome("a".repeat(120));
    const id = randomUUID();
    const { door, server } = await createSandboxPaths(home).of(id);
    made.push(dirname(dirname(dirname(door))));
    for (const path of [door, server]) expect(Buffer.byteLength(path)).toBeLessThanOrEqual(103);
    expect((await createSandboxPaths(home).of(id)).door).toBe(door);
    const backend = createTestBackend(home);
    const address = await backend.provision(createSpec("sandboxed", id), AbortSignal.timeout(20_000));
    expect(await ask(await backend.connect(id, address), "/server", "/")).toBe("the server");
    await backend.terminate(id, address, AbortSignal.timeout(10_000));
    await backend.close();
  });

  it.runIf(isRoot)("is elsewhere when root's home is closed to the users of sandboxes, and works there", async () => {
    const home = await makeHome("closed", randomBytes(4).toString("hex"));
    await chmod(dirname(home), 0o700);
    const backend = createTestBackend(home);
    const spec = createSpec("sandboxed");
    const { directory } = await createSandboxPaths(home).of(spec.sandboxId);
    made.push(dirname(dirname(directory)));
    expect(directory.startsWith(home)).toBe(false);
    expect(await readFile(join(home, "sandboxes-are-elsewhere.txt"), "utf8")).toContain(dirname(dirname(directory)));
    const address = await backend.provision(spec, AbortSignal.timeout(20_000));
    expect(await ask(await backend.connect(spec.sandboxId, address), "/server", "/")).toBe("the server");
    await backend.terminate(spec.sandboxId, address, AbortSignal.timeout(10_000));
    await backend.close();
  });
});
