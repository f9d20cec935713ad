import { mkdir, readdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../../errors.ts";
import type { SandboxAddress } from "../../../protocol/sandbox.ts";
import { connectToAddress, openAddressDoor } from "../../address-door.ts";
import { type SandboxBackend, type SandboxSpec, toAddress } from "../../sandbox-backend.ts";
import { endLife, isLifeOver } from "../local/end-life.ts";
import type { SandboxPrograms } from "../local/find-programs.ts";
import { forgetLife, readLife, writeLife } from "../local/life-record.ts";
import { openLog } from "../local/sidecar-log.ts";
import { startSidecar } from "../local/start-sidecar.ts";

export interface ProcessBackendOptions {
  home: string;
  programs: SandboxPrograms;
  searchPath: string;
  /** DORMOUSE_SANDBOX_LISTEN, as the sandboxes reach it. */
  serverUrl: string;
}

const host = "127.0.0.1";
const isolation = { name: "plain-process", confined: false };
const addressContent = z.object({ doorPort: z.number(), agentPort: z.number() });

/**
 * Sandboxes as plain processes that are reached, and reach the server, over TCP: what a backend on other machines
 * has to do, as small as it gets. It is for tests, and shows that a backend needs nothing outside of its folder.
 */
export function createProcessBackend({ home, programs, searchPath, serverUrl }: ProcessBackendOptions): SandboxBackend {
  const base = join(home, "processes");
  const doors = new Map<string, ReturnType<typeof openAddressDoor>>();
  const pathsOf = (sandboxId: string) => {
    const directory = join(base, sandboxId);
    return { directory, workspace: join(directory, "workspace") };
  };

  async function end(sandboxId: string, signal: AbortSignal): Promise<void> {
    const { directory, workspace } = pathsOf(sandboxId);
    const life = await readLife(directory);
    if (life) await endLife(life, { sandboxId, workspace, graceMilliseconds: 5_000, signal });
    await forgetLife(directory);
    await doors.get(sandboxId)?.close();
    doors.delete(sandboxId);
  }

  async function provision(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxAddress> {
    const { sandboxId, launch } = spec;
    await end(sandboxId, signal);
    if (spec.isolation !== isolation.name) throw new AppError("unavailable", "There are plain processes only.");
    const { directory, workspace } = pathsOf(sandboxId);
    await mkdir(workspace, { recursive: true });
    const [doorPort, agentPort] = await findFreePorts();
    const log = await openLog(join(directory, "sidecar.log"));
    const { node, sidecar, opencode, ripgrep } = programs;
    try {
      const program = { isolation: "host", node: node.path, sidecar } as const;
      const { bootId } = launch;
      const started = await startSidecar({ program, bootId, workspace, path: searchPath, log, signal });
      await writeLife(directory, started.life);
      started.launch({
        ...launch,
        door: { kind: "address", host, port: doorPort },
        server: { kind: "address", url: serverUrl },
        workspace,
        programs: { opencode: opencode.path, ripgrepDirectory: dirname(ripgrep.path), path: searchPath },
        agentPort,
        proxyEgress: true,
        ownPidNamespace: false,
      });
      await untilDoorOpens(doorPort, started.ended, signal);
      return toAddress({ doorPort, agentPort });
    } catch (error) {
      await end(sandboxId, AbortSignal.abort());
      throw signal.aborted ? signal.reason : error;
    } finally {
      await log.close();
    }
  }

  return {
    kind: "test-process",
    inHome: null,
    isolations: async () => [{ ...isolation, available: true, detail: "a plain process, for tests" }],
    provision,
    terminate: (sandboxId, _address, signal) => end(sandboxId, signal),
    async report(sandboxId) {
      const life = await readLife(pathsOf(sandboxId).directory);
      return life && !isLifeOver(life) ? "present" : "gone";
    },
    async list() {
      const ids = await readdir(base).catch(() => []);
      return Promise.all(
        ids.map(async (sandboxId) => {
          const life = await readLife(pathsOf(sandboxId).directory);
          return { sandboxId, running: life !== null && !isLifeOver(life), address: toAddress({}) };
        }),
      );
    },
    async connect(sandboxId, address) {
      const { doorPort } = addressContent.parse(address);
      const door = doors.get(sandboxId) ?? openAddressDoor({ host, port: doorPort });
      doors.set(sandboxId, door);
      return door;
    },
    async close() {
      await Promise.all([...doors.values()].map((door) => door.close()));
      doors.clear();
    },
  };
}

/** Both at once, so that they differ. */
async function findFreePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()] as const;
  const listen = (server: (typeof servers)[number]) =>
    new Promise<number>((resolve) => {
      server.listen({ host, port: 0 }, () => resolve((server.address() as AddressInfo).port));
    });
  const ports: [number, number] = [await listen(servers[0]), await listen(servers[1])];
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function untilDoorOpens(port: number, ended: Promise<string>, signal: AbortSignal): Promise<void> {
  let how: string | null = null;
  void ended.then((words) => {
    how = words;
  });
  for (;;) {
    const socket = await connectToAddress({ host, port }).catch(() => null);
    if (socket) return void socket.destroy();
    if (how) throw new Error(`The sidecar ${how}`);
    signal.throwIfAborted();
    await sleep(25);
  }
}
