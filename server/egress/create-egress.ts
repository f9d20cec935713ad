import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { SandboxCaller } from "../gateway/index.ts";
import type { Logger } from "../lib/logger.ts";
import { type Checked, checkTarget, type EgressRules } from "./check-target.ts";
import type { Egress } from "./index.ts";
import { createNameLookup, type NameLookup } from "./name-lookup.ts";
import { bypassesProxy, ProxyRefusal, reachDirectly, reachThroughProxy } from "./reach.ts";
import { parseTarget, type Target } from "./target.ts";

export interface EgressOptions {
  rules: EgressRules;
  /** The machine's own proxy for everything that is tunnelled; null without one. */
  proxy: { https: string | null; except: string };
  findCaller(headers: IncomingHttpHeaders): Promise<SandboxCaller | null>;
  /** The tenant's own list; asked after the rules, which it cannot widen. */
  permits(caller: SandboxCaller, target: Target): Promise<boolean> | boolean;
  /** Closed with the egress. */
  names?: NameLookup;
  logger: Pick<Logger, "debug" | "error">;
  maxTunnels?: number;
  idleMilliseconds?: number;
}

const connectMilliseconds = 15_000;

/** A tunnel counts from the moment it is asked for, so that a thousand at once do not slip through together. */
export function createEgress(options: EgressOptions): Egress {
  const { rules, proxy, findCaller, permits, logger, names = createNameLookup() } = options;
  const { maxTunnels = 200, idleMilliseconds = 10 * 60_000 } = options;
  const counts = new Map<string, number>();
  const closing = new AbortController();
  const tunnels = new Set<Promise<void>>();

  async function open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const caller = await findCaller(request.headers);
    if (!caller) return refuse(socket, 407, "This sandbox's access to the network has ended.");
    const count = counts.get(caller.sandboxId) ?? 0;
    if (count >= maxTunnels)
      return refuse(socket, 429, `A sandbox can have at most ${maxTunnels} connections at once.`);
    counts.set(caller.sandboxId, count + 1);
    try {
      await tunnel({ caller, request, socket, head });
    } finally {
      const left = (counts.get(caller.sandboxId) ?? 1) - 1;
      if (left > 0) counts.set(caller.sandboxId, left);
      else counts.delete(caller.sandboxId);
    }
  }

  async function tunnel(input: { caller: SandboxCaller; request: IncomingMessage; socket: Duplex; head: Buffer }) {
    const { caller, request, socket, head } = input;
    const target = parseTarget(request.url ?? "");
    if (!target) return refuse(socket, 403, "A connection needs a host name and a port.");
    const way = proxy.https && !bypassesProxy(target, proxy.except) ? proxy.https : null;
    const checked = await checkTarget({
      target,
      rules,
      permits: () => permits(caller, target),
      find: (host) => names.find(host, caller.sandboxId),
      proxied: way !== null,
    });
    if ("reason" in checked) return refuse(socket, checked.status, checked.reason);
    const outside = await reach({ target, checked, way, socket });
    if (!outside) return;
    outside.setTimeout(idleMilliseconds, () => outside.destroy(new Error("idle")));
    const stop = () => outside.destroy();
    closing.signal.addEventListener("abort", stop);
    if (head.length > 0) outside.write(head);
    socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    // Each direction may end on its own; a failure of one ends both.
    await Promise.allSettled([pipeline(socket, outside), pipeline(outside, socket)]);
    closing.signal.removeEventListener("abort", stop);
    outside.destroy();
    socket.destroy();
  }

  /** Null when it failed: the sandbox was told why. */
  async function reach(input: {
    target: Target;
    checked: Checked;
    way: string | null;
    socket: Duplex;
  }): Promise<Socket | null> {
    const { target, checked, way, socket } = input;
    const gone = new AbortController();
    const leave = () => gone.abort();
    socket.once("close", leave);
    const late = AbortSignal.timeout(connectMilliseconds);
    const signal = AbortSignal.any([late, gone.signal, closing.signal]);
    try {
      return await (way ? reachThroughProxy(way, target, signal) : reachDirectly(target, checked, signal));
    } catch (error) {
      const name = `${target.host}:${target.port}`;
      logger.debug({ target: name, err: error }, "A sandbox could not be connected");
      if (late.aborted) refuse(socket, 504, `${name} did not answer within 15 seconds.`);
      else if (error instanceof ProxyRefusal) refuse(socket, 502, `${name}: ${error.message}`);
      else refuse(socket, 502, `${name} cannot be reached.`);
      return null;
    } finally {
      socket.off("close", leave);
    }
  }

  return {
    connect(request, socket, head) {
      socket.on("error", (error) => logger.debug({ err: error }, "A sandbox's connection failed"));
      if (closing.signal.aborted) return refuse(socket, 503, "Dormouse is stopping.");
      const work = open(request, socket, head).catch((error: unknown) => {
        logger.error({ err: error }, "Egress failed");
        refuse(socket, 500, "Dormouse could not open this connection. The server's log says why.");
      });
      tunnels.add(work);
      void work.finally(() => tunnels.delete(work));
    },
    async close() {
      closing.abort();
      names.close();
      await Promise.all(tunnels);
    },
  };
}

const phrases: Record<number, string> = {
  403: "Forbidden",
  407: "Proxy Authentication Required",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

function refuse(socket: Duplex, status: number, reason: string): void {
  if (socket.destroyed) return;
  const body = Buffer.from(`${reason}\n`);
  // The first line says why as well: most programs show it and not the body.
  const plain = reason.replaceAll("→", ">").replace(/[^\x20-\x7e]/g, "?");
  const phrase = `${phrases[status]}: ${plain.slice(0, 200)}`;
  socket.end(
    `HTTP/1.1 ${status} ${phrase}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
