import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";

export interface AgentPart {
  type: string;
  text?: string;
  tool?: string;
  state?: { status: string; input: Record<string, unknown>; output?: string; error?: string };
}
export interface AgentMessage {
  info: {
    role: string;
    agent?: string;
    finish?: string;
    error?: { name: string; data: { message: string; statusCode?: number } };
    tokens?: { input: number; output: number; reasoning: number };
  };
  parts: AgentPart[];
}

export interface TestAgent extends AsyncDisposable {
  /** The session directory that all sessions share; a git repository. */
  directory: string;
  createSession(title?: string): Promise<string>;
  /** Resolves with the messages that followed the prompt, once the agent is idle. */
  prompt(sessionId: string, text: string, model?: string): Promise<AgentMessage[]>;
  request(path: string, init?: RequestInit): Promise<unknown>;
}

/** The real opencode on this machine, without a network, in directories of its own. */
export async function startTestAgent(config: Record<string, unknown>): Promise<TestAgent> {
  const home = await mkdtemp(join(tmpdir(), "dormouse-agent-"));
  const directory = join(home, "session");
  await mkdir(join(directory, "outputs"), { recursive: true });
  await mkdir(join(home, "home"));
  const git = (...input: string[]) => promisify(execFile)("git", input, { cwd: directory, timeout: 10_000 });
  await git("init", "-q");
  await git("-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "--allow-empty", "-m", "root");
  await writeFile(join(home, "opencode.json"), JSON.stringify(config));
  const child = spawn(opencodePath(), ["serve", "--port", "0"], {
    cwd: home,
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      NODE_ENV: "production",
      PATH: `${dirname(rgPath)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: join(home, "home"),
      ...Object.fromEntries(["DATA", "CONFIG", "CACHE", "STATE"].map((kind) => [`XDG_${kind}_HOME`, join(home, kind)])),
      OPENCODE_CONFIG: join(home, "opencode.json"),
      ...Object.fromEntries(
        ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE"].map((what) => [
          `OPENCODE_DISABLE_${what}`,
          "1",
        ]),
      ),
      npm_config_registry: "http://127.0.0.1:9/",
    },
  });
  const exited = once(child, "exit");
  let url: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    url = /listening on (http:\S+)/.exec(line)?.[1];
    if (url) break;
  }
  if (!url) throw new Error("opencode did not start.");
  child.stdout.resume();

  const request: TestAgent["request"] = async (path, init = {}) => {
    const response = await fetch(`${url}${path}${path.includes("?") ? "&" : "?"}directory=${directory}`, {
      signal: AbortSignal.timeout(60_000),
      ...init,
      headers: { "content-type": "application/json" },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`opencode: ${response.status} ${text.slice(0, 300)}`);
    return text ? JSON.parse(text) : null;
  };
  const messages = async (id: string) => (await request(`/session/${id}/message`)) as AgentMessage[];

  return {
    directory,
    request,
    async createSession(title) {
      const session = await request("/session", { method: "POST", body: JSON.stringify(title ? { title } : {}) });
      return (session as { id: string }).id;
    },
    async prompt(id, text, model) {
      const before = (await messages(id)).length;
      const [providerID, ...rest] = model?.split("/") ?? [];
      const chosen = model ? { model: { providerID, modelID: rest.join("/") } } : {};
      // This call holds until the agent is idle.
      const body = JSON.stringify({ ...chosen, parts: [{ type: "text", text }] });
      await request(`/session/${id}/message`, { method: "POST", body });
      return (await messages(id)).slice(before + 1);
    },
    async [Symbol.asyncDispose]() {
      // Its background installation swallows the first signal.
      child.kill("SIGTERM");
      if ((await Promise.race([exited, sleep(2_000, "late")])) === "late") child.kill("SIGKILL");
      await exited;
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function opencodePath(): string {
  return join(dirname(createRequire(import.meta.url).resolve("opencode-ai/package.json")), "bin", "opencode.exe");
}
