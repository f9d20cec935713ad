import { setTimeout as sleep } from "node:timers/promises";
import type { AgentAddress } from "../supervisor/agent-process.ts";
import { readAgentEvents } from "../supervisor/read-agent-events.ts";
import type { EventBuffer } from "./event-buffer.ts";

const connectDeadline = 15_000;
const closeDeadline = 1_000;
const reconnectPause = 250;

export interface AgentFollower {
  /** Reads the events of one life until `signal`, over ever new connections. Resolves with the first of them. */
  attach(input: { life: number; address: AgentAddress; signal: AbortSignal }): Promise<void>;
  /** Says that the life has ended, after everything that still came from it. Called before its signal is aborted. */
  detach(input: { life: number; cause: string }): Promise<void>;
}

export function createAgentFollower({
  events,
  lastFrozenAt,
}: {
  events: EventBuffer;
  lastFrozenAt(): number;
}): AgentFollower {
  let connection: Promise<string> | null = null;

  async function read(input: {
    life: number;
    address: AgentAddress;
    signal: AbortSignal;
    onConnected(): void;
  }): Promise<void> {
    const { life, address, signal, onConnected } = input;
    while (!signal.aborted) {
      let connected = false;
      connection = readAgentEvents({
        address,
        lastFrozenAt,
        signal,
        onConnected() {
          connected = true;
          events.append({ type: "life", life, what: "events-connected", cause: null });
          onConnected();
        },
        onEvent({ directory, payload }) {
          events.append({ type: "agent", directory: directory ?? null, payload });
        },
      });
      const cause = await connection;
      // The end of opencode ends its events too, and is told as such.
      await sleep(reconnectPause, undefined, { signal }).catch(() => {});
      if (connected && !signal.aborted) events.append({ type: "life", life, what: "events-lost", cause });
    }
  }

  return {
    async attach({ life, address, signal }) {
      events.append({ type: "life", life, what: "started", cause: null });
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error("opencode's events cannot be read")), connectDeadline);
        const onConnected = () => {
          clearTimeout(late);
          resolve();
        };
        signal.addEventListener("abort", () => clearTimeout(late));
        void read({ life, address, signal, onConnected });
      });
    },
    async detach({ life, cause }) {
      const late = new AbortController();
      await Promise.race([connection, sleep(closeDeadline, undefined, { signal: late.signal }).catch(() => {})]);
      late.abort();
      events.append({ type: "life", life, what: "exited", cause: cause.slice(0, 2_000) });
    },
  };
}
