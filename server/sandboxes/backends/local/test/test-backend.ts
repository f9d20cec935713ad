import { randomBytes, randomUUID } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { request } from "undici";
import { parseConfig } from "../../../../config.ts";
import type { SandboxDoor, SandboxIsolation, SandboxSpec } from "../../../sandbox-backend.ts";
import { createLocalBackend, type LocalBackendOptions } from "../create-local-backend.ts";
import { findBubblewrap } from "../find-bubblewrap.ts";
import { findPrograms } from "../find-programs.ts";

const root = resolve(import.meta.dirname, "../../../../..");
export const commandSidecar = join(import.meta.dirname, "command-sidecar.mjs");
const { searchPath } = parseConfig();

/** A home that goes with the test, where other users of the machine can enter, as when root starts us. */
export async function createTestHome(): Promise<{ home: string; remove(): Promise<void> }> {
  const home = await mkdtemp("/tmp/dm-");
  await chmod(home, 0o711);
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
}

export async function createTestBackend(home: string, changes: Partial<LocalBackendOptions> = {}) {
  const found = await findBubblewrap(searchPath, AbortSignal.timeout(10_000));
  if ("reason" in found) throw new Error(found.reason);
  return createLocalBackend({
    home,
    programs: findPrograms(root, { sidecar: commandSidecar }),
    bubblewrap: found,
    hostAllowed: true,
    searchPath,
    serve: (_request, response) => response.end("the server"),
    connect: (_request, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"),
    ...changes,
  });
}

export function createSpec(isolation: SandboxIsolation, sandboxId: string = randomUUID()): SandboxSpec {
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
