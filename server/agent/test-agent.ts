import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createParser } from "eventsource-parser";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { startTestModel, type TestModel } from "./test-model.ts";

/** The real opencode with a scripted model, reached as through a sidecar. */
export interface TestAgent {
  sidecar: SidecarClient;
  model: TestModel;
  /** A new git repository with a root commit. */
  createDirectory(): string;
  close(): Promise<void>;
}

export async function startTestAgent(): Promise<TestAgent> {
  const home = mkdtempSync(join(tmpdir(), "agent-test-"));
  const model = await startTestModel();
  const password = randomUUID();
  writeFileSync(join(home, "opencode.json"), JSON.stringify(configFor(model.url)));
  const child = spawn(opencodeProgram(), ["serve", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: home,
    env: environmentFor(home, password),
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  const url = await addressOf(child);
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
  return {
    sidecar: createDirectSidecar(url, authorization),
    model,
    createDirectory: () => createRepository(home),
    async close() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      if (child.exitCode === null && child.pid) process.kill(-child.pid, "SIGKILL");
      else return;
      await gone;
      await model.close();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function opencodeProgram(): string {
  return join(dirname(fileURLToPath(import.meta.resolve("opencode-ai/package.json"))), "bin", "opencode.exe");
}

function configFor(baseURL: string) {
  const scripted = { name: "Scripted", tool_call: true, limit: { context: 100_000, output: 8_000 } };
  return {
    share: "disabled",
    autoupdate: false,
    model: "scripted/scripted",
    small_model: "scripted/scripted",
    enabled_providers: ["scripted"],
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL, apiKey: "none" },
        models: { scripted },
      },
    },
    permission: { bash: "ask" },
  };
}

function environmentFor(home: string, password: string): NodeJS.ProcessEnv {
  return {
    NODE_ENV: "test",
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: home,
    XDG_DATA_HOME: join(home, "data"),
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_STATE_HOME: join(home, "state"),
    XDG_CACHE_HOME: join(home, "cache"),
    OPENCODE_CONFIG: join(home, "opencode.json"),
    OPENCODE_SERVER_PASSWORD: password,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_SHARE: "1",
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_fetch_retries: "0",
  };
}

/** A request before this line would hang for ever. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`opencode exited with ${code}`)));
    createInterface({ input: child.stdout as Readable }).on("line", (line) => {
      const url = /listening on (http:\S+)/.exec(line)?.[1];
      if (url) resolve(url);
    });
  });
}

function createRepository(home: string): string {
  const directory = join(home, "sessions", randomUUID());
  mkdirSync(directory, { recursive: true });
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  execFileSync("git", ["init", "--quiet"], { cwd: directory });
  execFileSync("git", [...identity, "commit", "--quiet", "--allow-empty", "-m", "root"], { cwd: directory });
  return directory;
}

function createDirectSidecar(url: string, authorization: string): SidecarClient {
  const refuse = () => Promise.reject(new Error("Not part of this test."));
  return {
    sandboxId: randomUUID(),
    bootId: randomUUID(),
    async send({ method, path, body, contentType, headers, signal }) {
      const answer = await fetch(url + path.replace(/^\/agent/, ""), {
        method,
        headers: { authorization, ...(contentType ? { "content-type": contentType } : {}), ...headers },
        body: (body as string | undefined) ?? null,
        signal,
      });
      const stream = answer.body ? Readable.fromWeb(answer.body as never) : Readable.from([]);
      return { status: answer.status, headers: Object.fromEntries(answer.headers), body: stream };
    },
    events: (_after, signal) => readGlobalEvents(url, { authorization, signal }),
    health: refuse,
    json: refuse,
    upload: refuse,
    download: refuse,
    markRestored: refuse,
    waitForAgent: refuse,
    restartAgent: refuse,
    prepareWorkspace: refuse,
    removeWorkspace: refuse,
    quiesce: refuse,
    resume: refuse,
    freezeHolds: refuse,
    activity: refuse,
  };
}

/** Numbered from 1 at each call: it is not resumable, so a test reads it once. */
async function* readGlobalEvents(
  url: string,
  { authorization, signal }: { authorization: string; signal: AbortSignal },
): AsyncGenerator<NumberedEvent> {
  const answer = await fetch(`${url}/global/event`, { headers: { authorization }, signal });
  const texts: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => texts.push(data) });
  let number = 0;
  yield { type: "hello", oldest: 1, last: 0, bootId: "test" };
  for await (const chunk of Readable.fromWeb(answer.body as never)) {
    parser.feed(Buffer.from(chunk).toString("utf8"));
    for (const text of texts.splice(0)) {
      const { directory = null, payload } = JSON.parse(text);
      if (payload.type === "sync" || payload.type === "server.heartbeat") continue;
      number += 1;
      yield { type: "agent", number, directory, payload };
    }
  }
}
