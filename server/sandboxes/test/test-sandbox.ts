import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { request } from "undici";
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
