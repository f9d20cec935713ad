import { createPublicKey, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SidecarLaunch } from "../server/protocol/sidecar.ts";
import { createAgentDoor } from "./agent-door/agent-door.ts";
import { createServerConnection } from "./agent-door/server-connection.ts";
import { createKnownArchives } from "./archive/known-archives.ts";
import { createRoutes } from "./create-routes.ts";
import { createDoor } from "./door/door.ts";
import { createRequestVerifier } from "./door/verify-request.ts";
import { createEventBuffer } from "./events/event-buffer.ts";
import { createAgentFollower } from "./events/follow-agent.ts";
import { createExclusive } from "./exclusive.ts";
import { createWorkspaces } from "./files/workspaces.ts";
import { createHistory } from "./history/history.ts";
import { createHistoryMarker } from "./history/history-marker.ts";
import { layoutOf, makeLayout, recoverLayout } from "./layout.ts";
import { createActivity } from "./processes/activity.ts";
import { createAgentProcesses } from "./processes/agent-processes.ts";
import { createFreezer } from "./processes/freezer.ts";
import { endMarked } from "./processes/marked-processes.ts";
import { isAlive, type ProcessIdentity, readProcess } from "./processes/process-table.ts";
import { createWorkspaceLives } from "./snapshots/workspace-lives.ts";
import { createWorkspaceSnapshots } from "./snapshots/workspace-snapshots.ts";
import { agentEnvironment, agentMark } from "./supervisor/agent-environment.ts";
import { createAgentImport } from "./supervisor/agent-import.ts";
import { createAgentLog } from "./supervisor/agent-log.ts";
import { launchAgent } from "./supervisor/agent-process.ts";
import { declinePluginPackage } from "./supervisor/decline-plugin-package.ts";
import { endPreviousLife, recordAgent } from "./supervisor/previous-life.ts";
import { createSupervisor } from "./supervisor/supervisor.ts";
import { createWorkspaceLocks } from "./workspace-locks.ts";

/** The end waits that long for what was archived last to reach the disk: else the next wake may restore it. */
const flushMilliseconds = 2_000;

export interface Sidecar {
  /** Ends the agent and all that it started, then the doors. Takes a few seconds at most. */
  close(): Promise<void>;
}

/** Puts the parts together and opens both doors, the agent's first; the gate is closed. */
export async function createSidecar(launch: SidecarLaunch, report: (message: string) => void): Promise<Sidecar> {
  const { sandboxId, bootId, agentPort, proxyEgress, programs, workspace } = launch;
  const layout = layoutOf(workspace);
  const bootSecret = Buffer.from(launch.bootSecret, "base64");
  const publicKey = createPublicKey({ key: Buffer.from(launch.publicKey, "base64"), format: "der", type: "spki" });
  const previous = { path: layout.agentRecord, sandboxId };
  const left = await endPreviousLife(previous);
  if (left > 0) report(`ended ${left} processes of an earlier life`);
  await recoverLayout(layout);
  await makeLayout(layout);

  const log = createAgentLog();
  const events = createEventBuffer();
  const note = (message: string) => {
    log.add("sidecar", message);
    report(message);
  };
  let agent: ProcessIdentity | null = null;
  const agentPid = () => (agent && isAlive(agent) ? agent.pid : null);
  const processes = createAgentProcesses({
    mark: agentMark(sandboxId),
    ownPidNamespace: launch.ownPidNamespace,
    agentPid,
  });
  const freezer = createFreezer({ processes, report: note });
  const supervisor = createSupervisor({
    config: launch.agentConfig,
    configPath: layout.agentConfig,
    agentPort,
    ...createAgentFollower({ events, lastFrozenAt: freezer.lastFrozenAt }),
    report: note,
    async cleanUp() {
      await endPreviousLife(previous);
    },
    async launch() {
      await freezer.untilAwake();
      await declinePluginPackage(join(layout.home, ".config/opencode"));
      // In memory here and in opencode's environment, nowhere else.
      const password = randomBytes(24).toString("base64url");
      const launched = launchAgent({
        opencode: programs.opencode,
        workingDirectory: layout.home,
        environment: agentEnvironment({ layout, sandboxId, programs, agentPort, proxyEgress, password }),
        password,
        log,
      });
      agent = readProcess(launched.pid);
      if (agent) await recordAgent(layout.agentRecord, agent);
      return launched;
    },
  });

  const agentDoor = createAgentDoor({
    askServer: createServerConnection(launch.server),
    sandboxToken: launch.sandboxToken,
    agentPort,
  });
  await listen(agentDoor.server, { host: "127.0.0.1", port: agentPort });
  const exclusive = createExclusive();
  const locks = createWorkspaceLocks();
  const lives = createWorkspaceLives(layout.workspaceLives, bootId);
  const known = createKnownArchives({ directory: layout.knownArchives });
  const marker = createHistoryMarker(layout.historyMarker, bootId);
  const doorPort = launch.door.kind === "address" ? launch.door.port : undefined;
  const door = createDoor({
    routes: createRoutes({
      sandboxId,
      bootId,
      workspace,
      supervisor,
      events,
      log,
      workspaces: createWorkspaces({
        sessions: layout.sessions,
        replaced: layout.replaced,
        path: programs.path,
        lives,
        known,
        locks,
      }),
      locks,
      importIntoAgent: createAgentImport({
        opencode: programs.opencode,
        sessions: layout.sessions,
        temporary: layout.temporary,
        environment: agentEnvironment({ layout, sandboxId, programs, agentPort, proxyEgress, password: "" }),
      }),
      history: createHistory({ layout, marker, gate: supervisor, exclusive, known, report: note }),
      snapshots: createWorkspaceSnapshots({ layout, lives, known, locks }),
      freezer,
      activity: createActivity({
        processes,
        agentPid,
        ownPorts: () => [agentPort, supervisor.address()?.port, doorPort].filter((port) => port !== undefined),
        sessions: layout.sessions,
      }),
    }),
    verifier: createRequestVerifier({
      sandboxId,
      bootId,
      publicKey,
      onSigned: freezer.putOff,
      onTakenOver: agentDoor.cutCalls,
    }),
    bootSecret,
    identity: { sandboxId, bootId, publicKey },
    report: note,
  });
  await openDoor(door, launch.door);

  return {
    async close() {
      door.close();
      await Promise.all([
        supervisor.stop(),
        freezer.end(),
        Promise.race([known.flushed(), sleep(flushMilliseconds, undefined, { ref: false })]),
      ]);
      await endMarked(agentMark(sandboxId)).catch((error: Error) => report(error.message));
      for (const server of [door, agentDoor.server]) {
        server.close();
        server.closeAllConnections();
      }
      if (launch.door.kind === "socket") await rm(launch.door.path, { force: true });
    },
  };
}

async function openDoor(server: Server, door: SidecarLaunch["door"]): Promise<void> {
  if (door.kind === "address") return listen(server, { host: door.host, port: door.port });
  await rm(door.path, { force: true });
  await listen(server, { path: door.path });
  await chmod(door.path, 0o600);
}

async function listen(server: Server, where: { host: string; port: number } | { path: string }): Promise<void> {
  server.listen(where);
  await once(server, "listening");
}
