import { get, type IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";
import { z } from "zod";
import type { AgentAddress } from "./agent-process.ts";

const globalEvent = z.object({
  directory: z.string().nullish(),
  payload: z.object({
    id: z.string().optional(),
    type: z.string(),
    properties: z.record(z.string(), z.unknown()).default({}),
  }),
});
export type GlobalEvent = z.infer<typeof globalEvent>;

/** Durable duplicates, and what only says that the connection lives. */
const noise = new Set(["sync", "server.heartbeat", "server.connected"]);

const connectDeadline = 5_000;

export interface AgentEventReading {
  address: AgentAddress;
  onConnected(): void;
  onEvent(event: GlobalEvent): void;
  /** The last moment at which it could not speak, by `performance.now()`. */
  lastFrozenAt(): number;
  maxSilence?: number;
  signal: AbortSignal;
}

/** Reads opencode's events over one connection of its own. Resolves with the reason why it ended. */
export function readAgentEvents(reading: AgentEventReading): Promise<string> {
  return new Promise((resolve) => {
    // opencode sends a heartbeat every 10 s.
    const { onConnected, onEvent, lastFrozenAt, maxSilence = 30_000, signal } = reading;
    const { host, port, authorization } = reading.address;
    const headers = { authorization, accept: "text/event-stream" };
    const request = get({ host, port, path: "/global/event", headers, agent: false, signal });
    const late = setTimeout(() => request.destroy(new Error("no answer")), connectDeadline);
    const silence = setTimeout(() => {
      // It has that long again after a freeze.
      if (performance.now() - lastFrozenAt() < maxSilence) silence.refresh();
      else request.destroy(new Error("silence"));
    }, maxSilence);
    const end = (reason: string) => {
      clearTimeout(late);
      clearTimeout(silence);
      request.destroy();
      resolve(reason);
    };
    request.on("error", (error) => end(error.message));
    request.on("response", (response: IncomingMessage) => {
      clearTimeout(late);
      if (response.statusCode !== 200) return end(`status ${response.statusCode}`);
      const parser = createParser({
        maxBufferSize: 64 * 1024 * 1024,
        onEvent({ data }) {
          const event = parse(data);
          if (event?.payload.type === "server.connected") onConnected();
          if (event && !noise.has(event.payload.type)) onEvent(event);
        },
      });
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        silence.refresh();
        try {
          parser.feed(text);
        } catch (error) {
          end((error as Error).message);
        }
      });
      response.on("error", (error) => end(error.message));
      response.on("close", () => end("the connection was closed"));
    });
  });
}

function parse(data: string): GlobalEvent | null {
  try {
    return globalEvent.safeParse(JSON.parse(data)).data ?? null;
  } catch {
    return null;
  }
}
