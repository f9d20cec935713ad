import {
  type AgentClient,
  type AgentClientOptions,
  type AgentModel,
  createAgentClient,
  createEventBus,
  type EventBus,
} from "../agent/index.ts";
import type { RunningSandbox } from "../lifecycle/index.ts";

/** The agent of one life of a sandbox, with what is known to be there. */
export interface AgentConnection {
  client: AgentClient;
  bus: EventBus;
  /** Sessions whose directory and agent session were made sure of in this life of the agent: asking again would only cost time. */
  openedSessions: Map<string, OpenedSession>;
  /** Called after each connection to the sidecar: what the agent asks may have been missed. */
  onConnected: Set<() => void>;
}

export interface OpenedSession {
  directory: string;
  agentSessionId: string;
  /** Asked once for each configuration that the agent runs with. */
  model?: { configHash: string | null; named: AgentModel | null };
}

/** One connection for each sandbox that runs here; it ends with the sandbox. */
export interface AgentConnections {
  get(sandbox: RunningSandbox): AgentConnection;
  close(): Promise<void>;
}

export type CreateAgentClient = (options: Pick<AgentClientOptions, "sidecar">) => AgentClient;

export function createAgentConnections(createClient: CreateAgentClient = createAgentClient): AgentConnections {
  const connections = new Map<string, AgentConnection>();

  return {
    get({ sidecar, signal }) {
      const known = connections.get(sidecar.bootId);
      if (known && !known.bus.dead) return known;
      const onConnected = new Set<() => void>();
      const openedSessions = known?.openedSessions ?? new Map<string, OpenedSession>();
      const bus = createEventBus({
        sidecar,
        onStarted: () => openedSessions.clear(),
        onConnected() {
          for (const listener of onConnected) listener();
        },
      });
      const connection = { client: createClient({ sidecar }), bus, openedSessions, onConnected };
      connections.set(sidecar.bootId, connection);
      const end = () => {
        if (connections.get(sidecar.bootId) === connection) connections.delete(sidecar.bootId);
        void bus.close();
      };
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
      return connection;
    },
    async close() {
      await Promise.all([...connections.values()].map(({ bus }) => bus.close()));
    },
  };
}
