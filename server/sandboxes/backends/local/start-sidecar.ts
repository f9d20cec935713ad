import { type ChildProcess, spawn } from "node:child_process";
import type { FileHandle } from "node:fs/promises";
import type { SidecarLaunch } from "../../../protocol/sidecar.ts";
import { bubblewrapArguments } from "./bubblewrap.ts";
import { homeOf } from "./end-life.ts";
import type { Bubblewrap } from "./find-bubblewrap.ts";
import type { LifeRecord } from "./life-record.ts";
import { closeAll, openForBinding } from "./path-descriptors.ts";
import { identifyProcess, signalPid } from "./process-identity.ts";

/** What is bound into a sandbox: where it stands on the host, and where the inside sees it. */
export interface SandboxMount {
  source: string;
  destination: string;
  writable: boolean;
}

export type SidecarProgram =
  | { isolation: "host"; node: string; sidecar: string }
  | {
      isolation: "sandboxed";
      bubblewrap: Bubblewrap;
      uid: number | null;
      mounts: readonly SandboxMount[];
      node: string;
      sidecar: string;
    };

export interface StartedSidecar {
  life: LifeRecord;
  /** Tells it to begin. Without this it ends by itself, as it also does when this process dies before. */
  launch(launch: SidecarLaunch): void;
  /** Settles when the process that was started is gone. */
  ended: Promise<string>;
}

const temporaryBytes = 2 * 1024 ** 3;

/**
 * Starts the sidecar in a session of its own, so that neither Ctrl-C nor the end of the server reaches it.
 * It waits for its launch on standard input: what dies between the start and the record of it leaves nothing.
 */
export async function startSidecar(options: {
  program: SidecarProgram;
  bootId: string;
  workspace: string;
  path: string;
  log: FileHandle;
  signal: AbortSignal;
}): Promise<StartedSidecar> {
  const { program, bootId, log, signal } = options;
  const environment = { PATH: options.path, HOME: homeOf(options.workspace), LANG: "C.UTF-8" };
  const child =
    program.isolation === "host"
      ? spawn(program.node, [program.sidecar], {
          cwd: options.workspace,
          env: environment as unknown as NodeJS.ProcessEnv,
          stdio: ["pipe", log.fd, log.fd],
          detached: true,
        })
      : await spawnBubblewrap({ program, environment, log });
  const ended = whenEnded(child);
  child.stdin?.on("error", () => {});
  child.unref();
  try {
    const first = program.isolation === "host" ? null : await firstProcess(child, ended, signal);
    const leader = child.pid === undefined ? null : identifyProcess(child.pid);
    if (!leader) throw new Error(`The sidecar ${await ended}`);
    return {
      life: { bootId, isolation: program.isolation, leader, first },
      launch: (launch) => void child.stdin?.end(`${JSON.stringify(launch)}\n`),
      ended,
    };
  } catch (error) {
    if (child.pid !== undefined) signalPid(-child.pid, "SIGKILL");
    child.stdin?.destroy();
    throw error;
  }
}

async function spawnBubblewrap({
  program,
  environment,
  log,
}: {
  program: Extract<SidecarProgram, { isolation: "sandboxed" }>;
  environment: Record<string, string>;
  log: FileHandle;
}): Promise<ChildProcess> {
  const descriptors = await openForBinding(program.mounts.map(({ source }) => source));
  try {
    const parameters = bubblewrapArguments({
      disableUserns: program.bubblewrap.disableUserns,
      dieWithParent: false,
      mounts: program.mounts.map(({ destination, writable }, index) => ({
        descriptor: 4 + index,
        destination,
        writable,
      })),
      infoDescriptor: 3,
      temporaryBytes,
      workingDirectory: "/workspace",
      command: [program.node, program.sidecar],
    });
    return spawn(program.bubblewrap.path, parameters, {
      cwd: "/",
      env: environment as unknown as NodeJS.ProcessEnv,
      stdio: ["pipe", log.fd, log.fd, "pipe", ...descriptors],
      detached: true,
      ...(program.uid === null ? {} : { uid: program.uid, gid: program.uid }),
    });
  } finally {
    await closeAll(descriptors);
  }
}

/** Bubblewrap names the first process of the new pid namespace, as the host numbers it. */
async function firstProcess(child: ChildProcess, ended: Promise<string>, signal: AbortSignal) {
  const info = child.stdio[3] as NodeJS.ReadableStream & { destroy(): void };
  try {
    const text = await new Promise<string>((resolve, reject) => {
      let received = "";
      const onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      info.on("error", reject);
      info.on("data", (chunk) => {
        received += String(chunk);
        if (received.includes("}")) resolve(received);
      });
      info.on("end", () => resolve(received));
    });
    const pid = /"child-pid":\s*(\d+)/.exec(text)?.[1];
    const identity = pid === undefined ? null : identifyProcess(Number(pid));
    if (!identity) throw new Error(`The sidecar ${await ended}`);
    return identity;
  } finally {
    info.destroy();
  }
}

function whenEnded(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("exit", (code, signal) => resolve(code === null ? `ended by ${signal}` : `ended with code ${code}`));
  });
}
