import { spawn } from "node:child_process";
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { readProcess, signalPid } from "../processes/process-table.ts";
import type { AgentLog } from "./agent-log.ts";

export interface AgentAddress {
  host: string;
  port: number;
  /** Basic, with the password of this life. */
  authorization: string;
}

/** One `opencode serve`, from its launch to its end. */
export interface AgentProcess {
  pid: number;
  /** Resolves when it answers; throws with its last words when it ends or is late. */
  healthy(): Promise<{ address: AgentAddress; version: string }>;
  /** Resolves with the cause, in words. */
  exited: Promise<string>;
  /** SIGTERM, once more, then SIGKILL to its whole group; SIGKILL at once when it is stopped. Resolves when it has ended. Idempotent. */
  end(): Promise<void>;
}

export interface AgentLaunch {
  opencode: string;
  workingDirectory: string;
  environment: Record<string, string>;
  password: string;
  log: AgentLog;
  startMilliseconds?: number;
}

const host = "127.0.0.1";
const listening = /opencode server listening on http:\/\/[^\s:]+:(\d+)/;
// While opencode installs in the background, it swallows the first SIGTERM.
const escalation = [
  { signal: "SIGTERM", wait: 800 },
  { signal: "SIGTERM", wait: 1_500 },
  { signal: "SIGKILL", wait: 2_000 },
] as const;

export function launchAgent(launch: AgentLaunch): AgentProcess {
  const { opencode, log, password, startMilliseconds = 30_000 } = launch;
  const child = spawn(opencode, ["serve", "--hostname", host, "--port", "0"], {
    cwd: launch.workingDirectory,
    env: launch.environment as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that it ends as a whole.
    detached: true,
  });
  const port = Promise.withResolvers<number>();
  const lastWords: string[] = [];
  log.follow("stdout", child.stdout, (line) => {
    const found = listening.exec(line)?.[1];
    if (found) port.resolve(Number(found));
  });
  log.follow("stderr", child.stderr, (line) => {
    if (line.trim()) lastWords.push(line.trim().slice(0, 500));
    if (lastWords.length > 8) lastWords.shift();
  });
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(`opencode could not be started: ${error.message}`));
    child.once("exit", (code, signal) => {
      // Its output may still be in the pipe; a child of its own may keep that open.
      setTimeout(() => resolve([`opencode ended ${ending(code, signal)}`, ...lastWords].join("\n")), 50);
    });
  });
  exited.then((cause) => port.reject(new Error(cause)));
  port.promise.catch(() => {});
  let ended: Promise<void> | undefined;

  async function end(): Promise<void> {
    if (child.pid === undefined) return;
    for (const { signal, wait } of escalation) {
      // One that is stopped hears nothing else.
      const isStopped = readProcess(child.pid)?.state === "T";
      const heard = isStopped ? "SIGKILL" : signal;
      if (child.exitCode === null && child.signalCode === null) signalPid(-child.pid, heard);
      const late = new AbortController();
      await Promise.race([exited, sleep(wait, undefined, { signal: late.signal }).catch(() => {})]);
      late.abort();
    }
    // Nothing of the group outlives its leader.
    signalPid(-child.pid, "SIGKILL");
  }

  return {
    pid: child.pid ?? 0,
    exited,
    async healthy() {
      const deadline = Date.now() + startMilliseconds;
      const late = setTimeout(() => port.reject(new Error(lateness(startMilliseconds, lastWords))), startMilliseconds);
      const address = {
        host,
        port: await port.promise.finally(() => clearTimeout(late)),
        authorization: `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`,
      };
      while (Date.now() < deadline) {
        const version = await Promise.race([
          askHealth(address),
          exited.then((cause) => Promise.reject(new Error(cause))),
        ]);
        if (version) return { address, version };
        await sleep(50);
      }
      throw new Error(lateness(startMilliseconds, lastWords));
    },
    end: () => (ended ??= end()),
  };
}

/** Always over a new connection: one made before its handler was attached is never answered. */
function askHealth({ port, authorization }: AgentAddress): Promise<string | null> {
  return new Promise((resolve) => {
    const request = get(
      { host, port, path: "/global/health", headers: { authorization }, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => (text += chunk));
        response.on("error", () => resolve(null));
        response.on("end", () => resolve(response.statusCode === 200 ? versionIn(text) : null));
      },
    );
    request.setTimeout(1_000, () => request.destroy());
    request.on("error", () => resolve(null));
    request.on("close", () => resolve(null));
  });
}

const health = z.object({ healthy: z.literal(true), version: z.string() });

function versionIn(text: string): string | null {
  try {
    return health.parse(JSON.parse(text)).version;
  } catch {
    return null;
  }
}

function ending(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? `by ${signal}` : `with code ${code}`;
}

function lateness(milliseconds: number, words: string[]): string {
  return [`opencode did not answer within ${milliseconds / 1000} s`, ...words].join("\n");
}
