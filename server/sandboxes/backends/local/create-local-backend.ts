import { setTimeout as sleep } from "node:timers/promises";
import { faultError, isAppError } from "../../../errors.ts";
import type { SandboxAddress } from "../../../protocol/sandbox.ts";
import type { SandboxBackend, SandboxSpec } from "../../sandbox-backend.ts";
import type { RequestServer, SandboxRequests } from "../../sandbox-requests.ts";
import { endLife, isLifeOver } from "./end-life.ts";
import { findPrograms, type SandboxPrograms } from "./find-programs.ts";
import { forgetLife, readLife, writeLife } from "./life-record.ts";
import { chooseAgentPort, toLocalAddress } from "./local-address.ts";
import { connectToDoor, openDoor } from "./local-door.ts";
import { createLocalIsolations, type IsolationOptions } from "./local-isolations.ts";
import { isAlive } from "./process-identity.ts";
import { createSandboxPaths, type PathsOfSandbox } from "./sandbox-paths.ts";
import { planSandbox } from "./sandbox-program.ts";
import { openServerSocket } from "./server-socket.ts";
import { boundLog, lastWords, openLog } from "./sidecar-log.ts";
import { type StartedSidecar, startSidecar } from "./start-sidecar.ts";

export interface LocalBackendOptions {
  /** The directory whose lock this process holds. */
  home: string;
  /** The directory of this project, in whose packages the programs are that run in a sandbox. */
  root: string;
  /** DORMOUSE_ISOLATION. */
  isolation: IsolationOptions["wanted"];
  /** PATH of the machine: where bubblewrap is looked for, and what sandboxes have under `host`. */
  searchPath: string;
  requests: SandboxRequests;
  /** Instead of those of `root`; for tests. */
  programs?: Partial<SandboxPrograms>;
  proveIsolation?: IsolationOptions["prove"];
  startMilliseconds?: number;
  /** How long a sidecar has to end its agent before it is killed. */
  graceMilliseconds?: number;
}

/**
 * Sandboxes as processes of this machine. They are in sessions of their own and outlive the server; what
 * was started is recorded beside their files, so that the next server can prove, use or end it. Throws
 * `unavailable` when a program is missing that runs in every sandbox.
 */
export function createLocalBackend(options: LocalBackendOptions): SandboxBackend {
  const { searchPath, startMilliseconds = 20_000, graceMilliseconds = 5_000 } = options;
  const programs = findPrograms(options.root, options.programs);
  const isolations = createLocalIsolations({ wanted: options.isolation, searchPath, prove: options.proveIsolation });
  const sandboxPaths = createSandboxPaths(options.home);
  const serverSockets = new Map<string, Promise<RequestServer>>();
  const doors = new Map<string, ReturnType<typeof openDoor>>();

  function listenFor(sandboxId: string, paths: PathsOfSandbox): Promise<RequestServer> {
    const open = serverSockets.get(sandboxId);
    if (open) return open;
    const opening = openServerSocket(paths.server, options.requests);
    serverSockets.set(sandboxId, opening);
    opening.catch(() => serverSockets.delete(sandboxId));
    return opening;
  }

  async function letGo(sandboxId: string): Promise<void> {
    const door = doors.get(sandboxId);
    const socket = serverSockets.get(sandboxId);
    doors.delete(sandboxId);
    serverSockets.delete(sandboxId);
    await door?.close();
    await (await socket?.catch(() => null))?.close();
  }

  async function end(sandboxId: string, signal: AbortSignal): Promise<void> {
    const { directory, workspace } = await sandboxPaths.of(sandboxId);
    const life = await readLife(directory);
    if (life) await endLife(life, { sandboxId, workspace, graceMilliseconds, signal });
    await forgetLife(directory);
    await letGo(sandboxId);
  }

  async function provision(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxAddress> {
    const { sandboxId } = spec;
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(startMilliseconds)]);
    await end(sandboxId, signal);
    const isolation = await isolations.require(spec.isolation, signal);
    const paths = await sandboxPaths.make(sandboxId, isolation.name);
    const { program, launch } = await planSandbox({ sandboxId, isolation, paths, programs, searchPath });
    const agentPort = await chooseAgentPort(isolation.name, spec.previous);
    await listenFor(sandboxId, paths);
    await boundLog(paths.log);
    const log = await openLog(paths.log);
    try {
      const path = launch.programs.path;
      const { workspace } = launch;
      const started = await startSidecar({
        program,
        bootId: spec.launch.bootId,
        workspace,
        path,
        log,
        signal: bounded,
      });
      await writeLife(paths.directory, started.life);
      started.launch({ ...spec.launch, ...launch, agentPort });
      await untilDoorOpens(paths, started, bounded);
      return toLocalAddress({ agentPort });
    } catch (error) {
      await end(sandboxId, AbortSignal.abort());
      throw await explain(error, { paths, signal, bounded });
    } finally {
      await log.close();
    }
  }

  return {
    kind: "local",
    inHome: {
      async setAside(sandboxId, signal) {
        await end(sandboxId, signal);
        return sandboxPaths.setAside(sandboxId);
      },
    },
    isolations: (signal) => isolations.list(signal),
    provision,
    terminate: (sandboxId, _address, signal) => end(sandboxId, signal),
    async report(sandboxId) {
      const { directory, log } = await sandboxPaths.of(sandboxId);
      const life = await readLife(directory).catch(() => "unreadable" as const);
      if (life === "unreadable") return "unknown";
      // What the sidecar leaves behind when it is killed cannot be reached any more; the next life ends it.
      if (!life || isLifeOver(life) || !isAlive(life.leader)) return "gone";
      await boundLog(log).catch(() => {});
      return "present";
    },
    async list() {
      const ids = await sandboxPaths.listIds();
      return Promise.all(
        ids.map(async (sandboxId) => {
          const life = await readLife((await sandboxPaths.of(sandboxId)).directory).catch(() => null);
          return { sandboxId, running: life !== null && !isLifeOver(life), address: toLocalAddress({}) };
        }),
      );
    },
    async connect(sandboxId) {
      const paths = await sandboxPaths.of(sandboxId);
      await listenFor(sandboxId, paths);
      const door = doors.get(sandboxId) ?? openDoor(paths.door);
      doors.set(sandboxId, door);
      return { dispatcher: door.dispatcher, origin: door.origin, connect: door.connect };
    },
    async close() {
      await Promise.all([...new Set([...doors.keys(), ...serverSockets.keys()])].map(letGo));
    },
  };
}

async function untilDoorOpens(paths: PathsOfSandbox, started: StartedSidecar, signal: AbortSignal): Promise<void> {
  let ended: string | null = null;
  void started.ended.then((how) => {
    ended = how;
  });
  for (;;) {
    const socket = await connectToDoor(paths.door).catch(() => null);
    if (socket) return void socket.destroy();
    if (ended) throw new Error(`The sidecar ${ended}`);
    signal.throwIfAborted();
    await sleep(25);
  }
}

async function explain(
  error: unknown,
  { paths, signal, bounded }: { paths: PathsOfSandbox; signal: AbortSignal; bounded: AbortSignal },
): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  if (isAppError(error) && !bounded.aborted) return error;
  const cause = new Error(`The sidecar's last words: ${(await lastWords(paths.log)) || "none"}`, { cause: error });
  return faultError(bounded.aborted ? "sandbox-start-late" : "sandbox-start", { cause });
}
