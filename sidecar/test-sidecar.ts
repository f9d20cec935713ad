import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { bundleSidecar } from "../scripts/lib/bundle-sidecar.mjs";
import type { NumberedEvent, SidecarLaunch } from "../server/protocol/sidecar.ts";
import { createSidecarClient } from "../server/sandboxes/create-sidecar-client.ts";
import type { SidecarClient } from "../server/sandboxes/sidecar-client.ts";
import { createTestServer, type TestServer } from "./test-server.ts";

const root = resolve(import.meta.dirname, "..");
const { publicKey, privateKey } = generateKeyPairSync("ed25519");

/** A real sidecar as a plain child process, over Unix sockets, with a server that a test scripts. */
export interface TestSandbox {
  workspace: string;
  launch: SidecarLaunch;
  server: TestServer;
  privateKey: typeof privateKey;
  /** Starts a sidecar; a repeated start is a next boot on the same files. */
  boot(changes?: Partial<SidecarLaunch>): Promise<TestBoot>;
  remove(): Promise<void>;
}

export interface TestBoot {
  child: ChildProcess;
  client: SidecarClient;
  launch: SidecarLaunch;
  connection: Pool;
  /** With the gate open and the agent running. */
  wake(): Promise<void>;
  output(): string;
}

export async function createTestSandbox(): Promise<TestSandbox> {
  const directory = await mkdtemp(join(tmpdir(), "dm-"));
  const program = join(directory, "sidecar.mjs");
  await writeFile(program, (await bundleSidecar({ root })).code);
  const server = createTestServer();
  await server.listen(join(directory, "server"));
  const boots: TestBoot[] = [];
  const workspace = join(directory, "workspace");
  const launch: SidecarLaunch = {
    sandboxId: randomUUID(),
    bootId: randomUUID(),
    publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
    bootSecret: randomBytes(32).toString("base64"),
    sandboxToken: `token-${randomBytes(16).toString("hex")}`,
    door: { kind: "socket", path: join(directory, "door") },
    server: { kind: "socket", path: join(directory, "server") },
    workspace,
    programs: findPrograms(),
    agentPort: await freePort(),
    agentConfig: agentConfig("first"),
    proxyEgress: true,
    ownPidNamespace: false,
  };

  async function boot(changes: Partial<SidecarLaunch> = {}): Promise<TestBoot> {
    const mine = { ...launch, bootId: randomUUID(), ...changes };
    const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "pipe"], cwd: directory });
    let output = "";
    child.stderr?.on("data", (chunk) => (output += chunk));
    child.stdin?.end(JSON.stringify(mine));
    const ended = once(child, "exit").then(() => Promise.reject(new Error(`The sidecar ended: ${output}`)));
    ended.catch(() => {});
    const socketPath = join(directory, "door");
    await Promise.race([ended, waitUntil(() => output.includes("both doors are open"), "an open door")]);
    const connection = new Pool("http://sidecar", { socketPath });
    const client = createSidecarClient({
      door: { dispatcher: connection, origin: "http://sidecar", connect: () => connectTo(socketPath) },
      sandboxId: mine.sandboxId,
      bootId: mine.bootId,
      bootSecret: Buffer.from(mine.bootSecret, "base64"),
      privateKey,
    });
    const made: TestBoot = {
      child,
      client,
      launch: mine,
      connection,
      output: () => output,
      async wake() {
        await client.markRestored(deadline());
        await client.waitForAgent(deadline());
      },
    };
    boots.push(made);
    return made;
  }

  return {
    workspace,
    launch,
    server,
    privateKey,
    boot,
    async remove() {
      for (const { child, connection } of boots) {
        await connection.destroy();
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      await server.close();
      await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

export async function connectTo(path: string): Promise<Socket> {
  const socket = connect({ path });
  await once(socket, "connect");
  return socket;
}

export function agentConfig(model: string): Record<string, unknown> {
  const options = { baseURL: "http://sidecar.invalid/llm/test/v1", apiKey: "none" };
  const limit = { context: 100_000, output: 8_000 };
  return {
    share: "disabled",
    autoupdate: false,
    model: `test/${model}`,
    small_model: `test/${model}`,
    enabled_providers: ["test"],
    provider: {
      test: {
        npm: "@ai-sdk/openai-compatible",
        name: "Test",
        options,
        models: { [model]: { tool_call: true, limit } },
      },
    },
    permission: { "*": "allow" },
  };
}

export function findPrograms(): SidecarLaunch["programs"] {
  const require = createRequire(import.meta.url);
  const ripgrep = dirname(createRequire(require.resolve("@vscode/ripgrep")).resolve(ripgrepPackage("package.json")));
  return {
    opencode: join(dirname(require.resolve("opencode-ai/package.json")), "bin/opencode.exe"),
    ripgrepDirectory: join(ripgrep, "bin"),
    path: "/usr/local/bin:/usr/bin:/bin",
  };
}

function ripgrepPackage(file: string): string {
  return `@vscode/ripgrep-${process.platform}-${process.arch}/${file}`;
}

export function deadline(milliseconds = 60_000): AbortSignal {
  return AbortSignal.timeout(milliseconds);
}

export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  what: string,
  milliseconds = 60_000,
): Promise<void> {
  const end = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await sleep(20);
  }
}

/** Everything numbered after `after`, until `enough`. */
export async function collectEvents(
  client: SidecarClient,
  after: number,
  enough: (event: NumberedEvent) => boolean,
): Promise<NumberedEvent[]> {
  const done = new AbortController();
  const events: NumberedEvent[] = [];
  const signal = AbortSignal.any([done.signal, deadline()]);
  for await (const event of client.events(after, signal)) {
    events.push(event);
    if (enough(event)) break;
  }
  done.abort();
  return events;
}

export function isIdle(event: NumberedEvent): boolean {
  return event.type === "agent" && event.payload.type === "session.idle";
}

export async function createAgentSession(client: SidecarClient): Promise<{ id: string; directory: string }> {
  const { directory } = await client.prepareWorkspace(randomUUID(), deadline());
  const path = `/agent/session?directory=${encodeURIComponent(directory)}`;
  const { id } = await client.json<{ id: string }>({
    method: "POST",
    path,
    json: { title: "test" },
    signal: deadline(),
  });
  return { id, directory };
}

export async function prompt(client: SidecarClient, sessionId: string, text: string): Promise<void> {
  const json = { parts: [{ type: "text", text }] };
  await client.json({ method: "POST", path: `/agent/session/${sessionId}/prompt_async`, json, signal: deadline() });
}

/** The processes that descend from the sandbox's agent, with their environment. */
export async function listAgentProcesses(sandboxId: string): Promise<{ pid: number; environment: string }[]> {
  const found = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, "utf8").catch(() => "");
    if (environment.includes(`DORMOUSE_SANDBOX=${sandboxId}`)) found.push({ pid: Number(name), environment });
  }
  return found;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
