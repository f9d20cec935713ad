import { once } from "node:events";
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import type { Checked } from "./check-target.ts";
import type { Target } from "./target.ts";

/** A connection to one of the checked addresses; the name is not looked up again. */
export async function reachDirectly(target: Target, { addresses }: Checked, signal: AbortSignal): Promise<Socket> {
  const lookup: LookupFunction = (_name, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, [...addresses]);
    else done(null, first?.address ?? "", first?.family);
  };
  signal.throwIfAborted();
  // Not given the signal itself, which would end the connection long after it stands.
  const socket = connect({ host: target.host, port: target.port, lookup, allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    // Whatever still comes of it concerns nobody.
    socket.on("error", () => {}).destroy();
    throw error;
  }
}

/**
 * Through the machine's own proxy, which looks the name up itself: what it refuses is its own affair,
 * on top of what was checked here.
 */
export async function reachThroughProxy(proxy: string, target: Target, signal: AbortSignal): Promise<Socket> {
  const { protocol, hostname, port, username, password } = new URL(proxy);
  const authority = `${isIP(target.host) === 6 ? `[${target.host}]` : target.host}:${target.port}`;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const ask = (protocol === "https:" ? secureRequest : request)({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port || (protocol === "https:" ? 443 : 80),
    method: "CONNECT",
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(username && { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` }),
    },
    signal,
  });
  ask.end();
  return new Promise((resolve, reject) => {
    ask.on("error", reject);
    ask.once("response", (response) => {
      ask.destroy();
      reject(new ProxyRefusal(response.statusCode ?? 0));
    });
    ask.once("connect", (response, socket, head) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        return reject(new ProxyRefusal(response.statusCode ?? 0));
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket as Socket);
    });
  });
}

export class ProxyRefusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The machine's proxy refused with HTTP ${status}.`);
    this.status = status;
  }
}

/** NO_PROXY as curl reads it: names, whole domains after a dot, addresses, or `*`. */
export function bypassesProxy(target: Target, except: string): boolean {
  return except
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((part) => {
      const [, name = "", port] = /^(.*?)(?::(\d+))?$/.exec(part.toLowerCase()) ?? [];
      if (port && Number(port) !== target.port) return false;
      const bare = name.replace(/^\*?\./, "");
      return part === "*" || target.host === bare || target.host.endsWith(`.${bare}`);
    });
}
