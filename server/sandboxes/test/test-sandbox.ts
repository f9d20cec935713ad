import { randomBytes, randomUUID } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { identifyProcess } from "../backends/local/process-identity.ts";
import type { SandboxDoor, SandboxSpec } from "../sandbox-backend.ts";
import type { SandboxRequests } from "../sandbox-requests.ts";

export const commandSidecar = join(import.meta.dirname, "command-sidecar.mjs");

/** The server as a sandbox of these tests finds it. */
export const testRequests: SandboxRequests = {
  serve: (_request, response) => response.end("the server"),
  connect: (_request, socket) => socket.end("HTTP/1.1 403 the egress\r\n\r\n"),
};

export function createSpec(isolation: string, sandboxId: string = randomUUID()): SandboxSpec {
  const launch = {
    sandboxId,
    bootId: randomUUID(),
    publicKey: "",
    bootSecret: randomBytes(32).toString("base64"),
    sandboxToken: `token-${randomBytes(16).toString("hex")}`,
    agentConfig: {},
  };
  return { sandboxId, tenantId: randomUUID(), isolation, launch, previous: null };
}

export async function ask(door: SandboxDoor, path: string, body = ""): Promise<string> {
  const answer = await request(`${door.origin}${path}`, {
    dispatcher: door.dispatcher,
    method: "POST",
    body,
    headersTimeout: 25_000,
  });
  return answer.body.text();
}

/** Runs a command inside, with bash; its output and exit code. */
export async function run(door: SandboxDoor, command: string): Promise<{ code: number; output: string }> {
  return JSON.parse(await ask(door, "/run", command)) as { code: number; output: string };
}

/** Living processes whose command is the sidecar and whose working directory is this workspace, in whatever namespace. */
export function countSidecars(workspace: string): number {
  const inode = statSync(workspace, { throwIfNoEntry: false })?.ino;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && identifyProcess(Number(name)) !== null)
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return command[1]?.endsWith("sidecar.mjs") && statSync(`/proc/${pid}/cwd`).ino === inode;
      } catch {
        return false;
      }
    }).length;
}
