import { z } from "zod";
import { uuidPattern } from "../server/protocol/ids.ts";
import { freezeHoldsInput, type SidecarHealth, sidecarProtocol } from "../server/protocol/sidecar.ts";
import type { Route } from "./door/door.ts";
import type { Exchange } from "./door/exchange.ts";
import { proxyToAgent } from "./door/proxy-to-agent.ts";
import { parseJson } from "./door/read-body.ts";
import type { EventBuffer } from "./events/event-buffer.ts";
import { serveEvents } from "./events/serve-events.ts";
import { deleteFile, listFiles, moveFile, readFile, statFile, writeFile } from "./files/file-routes.ts";
import { serveWatch } from "./files/serve-watch.ts";
import type { Workspaces } from "./files/workspaces.ts";
import type { History } from "./history/history.ts";
import type { Activity } from "./processes/activity.ts";
import type { Freezer } from "./processes/freezer.ts";
import { Problem } from "./sidecar-problem.ts";
import type { WorkspaceSnapshots } from "./snapshots/workspace-snapshots.ts";
import { agentImport, type ImportIntoAgent } from "./supervisor/agent-import.ts";
import type { AgentLog } from "./supervisor/agent-log.ts";
import type { Supervisor } from "./supervisor/supervisor.ts";
import type { WorkspaceLocks } from "./workspace-locks.ts";

export interface RoutesOptions {
  sandboxId: string;
  bootId: string;
  workspace: string;
  supervisor: Supervisor;
  events: EventBuffer;
  log: AgentLog;
  workspaces: Workspaces;
  locks: WorkspaceLocks;
  importIntoAgent: ImportIntoAgent;
  history: History;
  snapshots: WorkspaceSnapshots;
  freezer: Freezer;
  activity: Activity;
}

const uuid = `(${uuidPattern})`;
const restart = z.object({ config: z.record(z.string(), z.unknown()).optional() });

export function createRoutes(options: RoutesOptions): Route[] {
  const { sandboxId, bootId, workspace, supervisor, events, log, workspaces, importIntoAgent, history, snapshots } =
    options;
  const { freezer, activity } = options;
  const changes = { root: workspace, locks: options.locks };
  const health = (): SidecarHealth => ({
    protocol: sidecarProtocol,
    sandboxId,
    bootId,
    gate: supervisor.gate,
    agent: {
      state: supervisor.state,
      life: supervisor.life,
      version: supervisor.version,
      cause: supervisor.cause,
    },
    lastEvent: events.last,
  });

  return [
    { method: "GET", path: /^\/health$/, open: true, handle: ({ json }) => json(200, health()) },
    {
      method: "GET",
      path: /^\/ready$/,
      open: true,
      handle: ({ json }) => json(supervisor.gate === "open" ? 200 : 503, { gate: supervisor.gate }),
    },
    {
      method: "POST",
      path: /^\/opencode-history\/mark-restored$/,
      async handle(exchange) {
        await history.skip(exchange);
        exchange.json(200, health());
      },
    },
    { method: "POST", path: /^\/opencode-history\/create$/, handle: (exchange) => history.create(exchange) },
    { method: "POST", path: /^\/opencode-history\/restore$/, handle: (exchange) => history.restore(exchange) },
    { method: "POST", path: /^\/opencode-history\/prepare$/, handle: (exchange) => history.prepare(exchange) },
    { method: "POST", path: /^\/home\/create$/, handle: (exchange) => history.createHome(exchange) },
    { method: "POST", path: /^\/home\/restore$/, handle: (exchange) => history.restoreHome(exchange) },
    {
      method: "POST",
      path: /^\/snapshot\/create$/,
      handle: (exchange) => snapshots.create(exchange, parseSessionId(exchange.query.get("session"))),
    },
    ...(["restore", "state", "adopt"] as const).map((verb) => ({
      method: verb === "state" ? "GET" : "POST",
      path: new RegExp(`^/snapshot/${verb}/${uuid}$`),
      handle: (exchange: Exchange, [sessionId = ""]: string[]) => snapshots[verb](exchange, sessionId),
    })),
    {
      method: "POST",
      path: /^\/agent\/restart$/,
      async handle({ body, json }) {
        const { config } = parseJson(await body(), restart);
        freezer.requireAwake();
        await supervisor.restart(config);
        json(202, health());
      },
    },
    {
      method: "POST",
      path: /^\/agent-import$/,
      async handle({ body, json, signal }) {
        const input = parseJson(await body(), agentImport);
        if (supervisor.gate === "closed")
          throw new Problem("unavailable", "The agent is still waiting for its history.");
        freezer.requireAwake();
        await importIntoAgent(input, signal);
        json(200, {});
      },
    },
    { method: "GET", path: /^\/agent-events$/, handle: (exchange) => serveEvents(exchange, events, bootId) },
    {
      method: "*",
      path: /^\/agent(\/.*)$/,
      handle(exchange, [path = "/"]) {
        freezer.requireAwake();
        return proxyToAgent(exchange, path, supervisor);
      },
    },
    {
      method: "POST",
      path: /^\/quiesce$/,
      async handle({ body, json }) {
        await body();
        json(200, await freezer.freeze());
      },
    },
    {
      method: "POST",
      path: /^\/resume$/,
      async handle({ body, json }) {
        await body();
        json(200, { resumed: await freezer.thaw() });
      },
    },
    {
      method: "POST",
      path: /^\/freeze-holds$/,
      async handle({ body, json }) {
        const { freezeId } = parseJson(await body(), freezeHoldsInput);
        json(200, { holds: await freezer.holds(freezeId) });
      },
    },
    { method: "GET", path: /^\/activity$/, handle: async ({ json }) => json(200, await activity.look()) },
    { method: "GET", path: /^\/files\/list$/, handle: (exchange) => listFiles(exchange, workspace) },
    { method: "GET", path: /^\/files\/stat$/, handle: (exchange) => statFile(exchange, workspace) },
    { method: "GET", path: /^\/files\/read$/, handle: (exchange) => readFile(exchange, workspace) },
    { method: "GET", path: /^\/files\/watch$/, handle: (exchange) => serveWatch(exchange, workspace) },
    { method: "PUT", path: /^\/files\/write$/, handle: (exchange) => writeFile(exchange, changes) },
    { method: "DELETE", path: /^\/files\/delete$/, handle: (exchange) => deleteFile(exchange, changes) },
    { method: "POST", path: /^\/files\/move$/, handle: (exchange) => moveFile(exchange, changes) },
    {
      method: "POST",
      path: new RegExp(`^/workspaces/${uuid}$`),
      async handle({ body, json, signal }, [sessionId = ""]) {
        await body();
        json(200, await workspaces.prepare(sessionId, signal));
      },
    },
    {
      method: "DELETE",
      path: new RegExp(`^/workspaces/${uuid}$`),
      async handle({ json }, [sessionId = ""]) {
        await workspaces.remove(sessionId);
        json(200, {});
      },
    },
    {
      method: "GET",
      path: /^\/logs$/,
      handle: ({ query, json }) => json(200, { lines: log.after(Number(query.get("after") ?? 0) || 0) }),
    },
  ];
}

function parseSessionId(text: string | null): string {
  if (text && new RegExp(`^${uuid}$`).test(text)) return text;
  throw new Problem("invalid-input", "The id of a session is missing.");
}
