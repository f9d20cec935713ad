import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createParser } from "eventsource-parser";

/** The peer: the same opencode with the same model, spoken to without anything between. */
export interface DirectOpencode extends AsyncDisposable {
  pid: number;
  /** Milliseconds from sending the prompt to the first delta, to the last one, and to idle. */
  turn(prompt: string): Promise<{ first: number; last: number; end: number; deltas: number }>;
}

interface AgentEvent {
  payload: {
    type: string /** Absent in `sync` duplicates. */;
    properties?: { sessionID?: string; field?: string; status?: { type: string } };
  };
}

export async function startDirectOpencode(modelUrl: string): Promise<DirectOpencode> {
  const home = await mkdtemp(join(tmpdir(), "dormouse-bench-direct-"));
  const project = join(home, "project");
  await mkdir(project);
  const config = join(home, "opencode.json");
  await writeFile(config, JSON.stringify(opencodeConfig(modelUrl)));
  await runGit(project);
  const password = randomBytes(16).toString("hex");
  const binary = join(dirname(createRequire(import.meta.url).resolve("opencode-ai/package.json")), "bin/opencode.exe");
  const child = spawn(binary, ["serve", "--port", "0", "--hostname", "127.0.0.1"], {
    cwd: project,
    env: {
      NODE_ENV: "production",
      PATH: process.env.PATH,
      HOME: home,
      XDG_DATA_HOME: join(home, "data"),
      XDG_CONFIG_HOME: join(home, "config"),
      XDG_CACHE_HOME: join(home, "cache"),
      XDG_STATE_HOME: join(home, "state"),
      OPENCODE_CONFIG: config,
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      OPENCODE_DISABLE_SHARE: "1",
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const url = await listening(child.stdout);
  const headers = {
    authorization: `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`,
    "content-type": "application/json",
  };
  const call = async (path: string, body: unknown) => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    if (!response.ok) throw new Error(`opencode answered ${response.status} to ${path}`);
    return response.status === 204 ? null : response.json();
  };
  const created = (await call(`/session?directory=${encodeURIComponent(project)}`, { title: "bench" })) as {
    id: string;
  };
  const events = await followEvents(`${url}/global/event`, headers);

  return {
    pid: child.pid ?? 0,
    async turn(prompt) {
      let first = Number.NaN;
      let last = Number.NaN;
      let deltas = 0;
      let busy = false;
      const begin = performance.now();
      const ended = new Promise<number>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error("opencode did not become idle within 60 s")), 60_000);
        events.listen(({ payload: { type, properties = {} } }) => {
          if (properties.sessionID !== created.id) return;
          if (type === "message.part.delta" && properties.field === "text") {
            deltas += 1;
            last = performance.now() - begin;
            if (Number.isNaN(first)) first = last;
          }
          if (type !== "session.status") return;
          if (properties.status?.type === "busy") busy = true;
          if (properties.status?.type !== "idle" || !busy) return;
          clearTimeout(late);
          resolve(performance.now() - begin);
        });
      });
      await call(`/session/${created.id}/prompt_async`, { parts: [{ type: "text", text: prompt }] });
      return { end: await ended, first, last, deltas };
    },
    async [Symbol.asyncDispose]() {
      events.stop();
      child.kill("SIGTERM");
      child.kill("SIGTERM");
      const forced = setTimeout(() => child.kill("SIGKILL"), 3000);
      if (child.exitCode === null) await once(child, "exit");
      clearTimeout(forced);
      await rm(home, { recursive: true, force: true });
    },
  };
}

function opencodeConfig(modelUrl: string) {
  const model = { name: "Scripted", tool_call: true, limit: { context: 100_000, output: 8000 } };
  return {
    share: "disabled",
    autoupdate: false,
    snapshot: true,
    model: "scripted/scripted",
    small_model: "scripted/scripted",
    enabled_providers: ["scripted"],
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        name: "Scripted",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: { scripted: model },
      },
    },
    permission: { "*": "allow" },
  };
}

async function runGit(directory: string): Promise<void> {
  const identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
  for (const parameters of [
    ["init", "-q"],
    [...identity, "commit", "-q", "--allow-empty", "-m", "root"],
  ]) {
    const [code] = await once(spawn("git", parameters, { cwd: directory, stdio: "ignore" }), "exit");
    if (code !== 0) throw new Error(`git ${parameters.join(" ")} ended with ${code}`);
  }
}

function listening(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const late = setTimeout(() => reject(new Error(`opencode did not listen within 30 s: ${text}`)), 30_000);
    output.on("data", (chunk) => {
      text += chunk;
      const url = /listening on (http:\/\/\S+)/.exec(text)?.[1];
      if (!url) return;
      clearTimeout(late);
      resolve(url);
    });
  });
}

async function followEvents(url: string, headers: Record<string, string>) {
  const stopped = new AbortController();
  let listener: (event: AgentEvent) => void = () => {};
  const response = await fetch(url, { headers, signal: stopped.signal });
  const parser = createParser({ onEvent: (event) => listener(JSON.parse(event.data) as AgentEvent) });
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  })().catch(() => {});
  return {
    listen(next: (event: AgentEvent) => void) {
      listener = next;
    },
    stop: () => stopped.abort(),
  };
}
