import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isAppError } from "../../../errors.ts";
import type { SandboxAddress, SandboxBackend, SandboxSpec } from "../../sandbox-backend.ts";
import { chooseAgentPort } from "./agent-port.ts";
import { endLife, isLifeOver } from "./end-life.ts";
import type { Bubblewrap } from "./find-bubblewrap.ts";
import type { SandboxPrograms } from "./find-programs.ts";
import { forgetLife, readLife, writeLife } from "./life-record.ts";
import { connectToDoor, openDoor } from "./local-door.ts";
import { isAlive } from "./process-identity.ts";
import { createSandboxPlaces, type SandboxPlace } from "./sandbox-places.ts";
import { planSandbox } from "./sandbox-program.ts";
import { openServerSocket, type SandboxRequests, type ServerSocket } from "./server-socket.ts";
import { boundLog, lastWords, openLog } from "./sidecar-log.ts";
import { type StartedSidecar, startSidecar } from "./start-sidecar.ts";

export interface LocalBackendOptions extends SandboxRequests {
  /** The directory whose lock this process holds. */
  home: string;
  programs: SandboxPrograms;
  /** The one with which a trial sandbox held; null: `sandboxed` is unavailable. */
  bubblewrap: Bubblewrap | null;
  hostAllowed: boolean;
  /** PATH of the machine, for `host`. */
  searchPath: string;
  startMilliseconds?: number;
  /** How long a sidecar has to end its agent before it is killed. */
  graceMilliseconds?: number;
}

/**
 * Sandboxes as processes of this machine. They are in sessions of their own and outlive the server; what
 * was started is recorded beside their files, so that the next server can prove, use or end it.
 */
export function createLocalBackend(options: LocalBackendOptions): SandboxBackend {
  const { startMilliseconds = 20_000, graceMilliseconds = 5_000 } = options;
  const places = createSandboxPlaces(options.home);
  const serverSockets = new Map<string, Promise<ServerSocket>>();
  const doors = new Map<string, ReturnType<typeof openDoor>>();

  function listenFor(sandboxId: string, place: SandboxPlace): Promise<ServerSocket> {
    const open = serverSockets.get(sandboxId);
    if (open) return open;
    const opening = openServerSocket(place.server, options);
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
    const { directory, workspace } = await places.of(sandboxId);
    const life = await readLife(directory);
    if (life) await endLife(life, { sandboxId, workspace, graceMilliseconds, signal });
    await forgetLife(directory);
    await letGo(sandboxId);
  }

  async function provision(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxAddress> {
    const { sandboxId, isolation } = spec;
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(startMilliseconds)]);
    const planned = { sandboxId, isolation, ...options };
    await end(sandboxId, signal);
    const place = await places.make(sandboxId, isolation);
    const { program, launch } = await planSandbox({ ...planned, place });
    const agentPort = await chooseAgentPort(isolation, spec.previous);
    await listenFor(sandboxId, place);
    await boundLog(place.log);
    const log = await openLog(place.log);
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
      await writeLife(place.directory, started.life);
      started.launch({ ...spec.launch, ...launch, agentPort });
      await untilDoorOpens(place, started, bounded);
      return { backend: "local", isolation, agentPort };
    } catch (error) {
      await end(sandboxId, AbortSignal.abort());
      throw await explain(error, { place, signal, bounded });
    } finally {
      await log.close();
    }
  }

  return {
    kind: "local",
    provision,
    terminate: (sandboxId, _address, signal) => end(sandboxId, signal),
    async report(sandboxId) {
      const { directory, log } = await places.of(sandboxId);
      const life = await readLife(directory).catch(() => "unreadable" as const);
      if (life === "unreadable") return "unknown";
      // What the sidecar leaves behind when it is killed cannot be reached any more; the next life ends it.
      if (!life || isLifeOver(life) || !isAlive(life.leader)) return "gone";
      await boundLog(log).catch(() => {});
      return "present";
    },
    async list() {
      const ids = await places.listIds();
      return Promise.all(
        ids.map(async (sandboxId) => {
          const life = await readLife((await places.of(sandboxId)).directory).catch(() => null);
          return { sandboxId, running: life !== null && !isLifeOver(life) };
        }),
      );
    },
    async connect(sandboxId) {
      const place = await places.of(sandboxId);
      await listenFor(sandboxId, place);
      const door = doors.get(sandboxId) ?? openDoor(place.door);
      doors.set(sandboxId, door);
      return { dispatcher: door.dispatcher, origin: door.origin, connect: door.connect };
    },
    async close() {
      await Promise.all([...new Set([...doors.keys(), ...serverSockets.keys()])].map(letGo));
    },
  };
}

async function untilDoorOpens(place: SandboxPlace, started: StartedSidecar, signal: AbortSignal): Promise<void> {
  let ended: string | null = null;
  void started.ended.then((how) => {
    ended = how;
  });
  for (;;) {
    const socket = await connectToDoor(place.door).catch(() => null);
    if (socket) return void socket.destroy();
    if (ended) throw new AppError("unavailable", `The sandbox did not start: its sidecar ${ended}.`);
    signal.throwIfAborted();
    await sleep(25);
  }
}

async function explain(
  error: unknown,
  { place, signal, bounded }: { place: SandboxPlace; signal: AbortSignal; bounded: AbortSignal },
): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  const words = await lastWords(place.log);
  const detail = words ? ` Its last output: ${words}` : "";
  if (bounded.aborted) return new AppError("timeout", `The sandbox did not start in time.${detail}`, { cause: error });
  if (!isAppError(error)) return new AppError("unavailable", `The sandbox did not start.${detail}`, { cause: error });
  return new AppError(error.kind, `${error.message}${detail}`, { cause: error });
}
