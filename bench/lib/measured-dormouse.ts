import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Person, signIn } from "./person.ts";

const root = resolve(import.meta.dirname, "../..");
const setupCode = "bench-set-up-code";
const admin = { email: "bench@example.org", password: "a long bench password" };

/** The whole program as people start it, with an admin who is signed in. */
export interface RunningDormouse extends Person, AsyncDisposable {
  url: string;
  pid: number;
}

export async function startDormouse(environment: Record<string, string> = {}): Promise<RunningDormouse> {
  const home = await mkdtemp(join(tmpdir(), "dormouse-bench-"));
  await chmod(home, 0o755);
  const child = spawn(process.execPath, ["server/main.ts"], {
    cwd: root,
    env: {
      ...process.env,
      NODE_ENV: "production",
      DORMOUSE_HOME: home,
      DORMOUSE_PORT: "0",
      DORMOUSE_LOG_LEVEL: "error",
      DORMOUSE_SETUP_CODE: setupCode,
      ...environment,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await readyAt(child);
  await firstRun(url);
  return {
    ...(await signIn(url, admin)),
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      const forced = setTimeout(() => child.kill("SIGKILL"), 25_000);
      if (child.exitCode === null) await once(child, "exit");
      clearTimeout(forced);
      await rm(home, { recursive: true, force: true });
    },
  };
}

function readyAt(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const late = setTimeout(() => reject(new Error(`Dormouse was not ready within 5 minutes:\n${output}`)), 300_000);
    child.on("exit", (code) => reject(new Error(`Dormouse ended with ${code}:\n${output}`)));
    child.stdout?.on("data", (chunk) => {
      output += chunk;
      const url = /ready at (http:\/\/\S+)/.exec(output)?.[1];
      if (!url) return;
      clearTimeout(late);
      resolve(url);
    });
  });
}

async function firstRun(url: string): Promise<void> {
  const first = await fetch(`${url}/api/v1/first-run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ tenantName: "Bench", name: "Bench", ...admin, setupCode, hostConsent: true }),
  });
  if (!first.ok) throw new Error(`The first run failed: ${await first.text()}`);
}
