import { generateKeyPairSync, randomUUID } from "node:crypto";
import { chmod, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleSidecar } from "../../scripts/lib/bundle-sidecar.mjs";
import { archiveOf, chunksOf } from "../../sidecar/archive/test-archives.ts";
import { createTestBackend, createTestHome } from "../sandboxes/backends/local/test/test-backend.ts";
import { createSidecarClient } from "../sandboxes/create-sidecar-client.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { createSpec } from "../sandboxes/test/test-sandbox.ts";
import { createSidecarArchives, type SidecarArchives } from "./sidecar-archives.ts";

const root = resolve(import.meta.dirname, "../..");
const soon = () => AbortSignal.timeout(60_000);

// The real sidecar as an unprivileged user behind bubblewrap: where archives are made and restored in earnest.
describe("archives through the door of an isolated sandbox", () => {
  let sidecar: SidecarClient;
  let archives: SidecarArchives;
  const endings: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const { home, remove } = await createTestHome();
    endings.unshift(remove);
    const program = join(home, "sidecar.mjs");
    await writeFile(program, (await bundleSidecar({ root })).code);
    await chmod(program, 0o644);
    const backend = createTestBackend(home, { programs: { sidecar: program } });
    endings.unshift(() => backend.close());
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const spec = createSpec("sandboxed");
    spec.launch.publicKey = publicKey.export({ format: "der", type: "spki" }).toString("base64");
    const { sandboxId } = spec;
    const address = await backend.provision(spec, soon());
    endings.unshift(() => backend.terminate(sandboxId, address, soon()));
    sidecar = createSidecarClient({
      door: await backend.connect(sandboxId, address),
      sandboxId,
      bootId: spec.launch.bootId,
      bootSecret: Buffer.from(spec.launch.bootSecret, "base64"),
      privateKey,
    });
    archives = createSidecarArchives(sidecar);
  });
  afterAll(async () => {
    for (const end of endings) await end();
  });

  async function gather(body: AsyncIterable<Buffer>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  it("bring a workspace back", async () => {
    const sessionId = randomUUID();
    await sidecar.prepareWorkspace(sessionId, soon());
    const path = (verb: string) => `/files/${verb}?path=sessions/${sessionId}/outputs/page.html`;
    await sidecar.send({ method: "PUT", path: path("write"), body: "<h1>hello</h1>", signal: soon() });
    const made = await archives.createWorkspace({ sessionId, sink: gather, signal: soon() });
    if (made.outcome !== "made") throw new Error(made.outcome);
    await sidecar.removeWorkspace(sessionId, soon());
    expect(await archives.workspaceState(sessionId, soon())).toMatchObject({ exists: false, life: "none" });
    await archives.restoreWorkspace({ sessionId, body: chunksOf(made.stored), signal: soon() });
    const answer = await sidecar.send({ method: "GET", path: path("read"), signal: soon() });
    expect(await text(answer.body)).toBe("<h1>hello</h1>");
    expect(await archives.workspaceState(sessionId, soon())).toMatchObject({ exists: true, life: "this" });
  });

  it("restore HOME and history before the agent starts, and never after", async () => {
    const home = archiveOf([{ name: "home/.config/tool", content: "setting" }]);
    expect((await archives.restoreHome({ body: chunksOf(home), signal: soon() })).outcome).toBe("restored");
    const history = archiveOf([{ name: ".opencode-data/opencode/storage/note", content: "remembered" }]);
    expect((await archives.restoreHistory({ body: chunksOf(history), signal: soon() })).outcome).toBe("restored");
    expect((await archives.restoreHistory({ body: chunksOf(history), signal: soon() })).outcome).toBe("kept");
    const made = await archives.createHome({ sink: gather, signal: soon() });
    expect(made).toMatchObject({ outcome: "made", note: { leftOut: expect.any(Number) } });
  });
});
