import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { clientAddressHeader } from "../auth/client-address.ts";

/**
 * Works out who is really calling. X-Forwarded-For grows to the right at every proxy, so it is read from
 * the right and believed only as long as the teller is a trusted proxy. Headers of others are removed
 * before anything can believe them.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => void {
  const isTrusted = createProxyCheck(trustedProxies);

  return (request) => {
    let address = plainAddress(request.socket.remoteAddress);
    if (isTrusted(address)) {
      const told = String(request.headers["x-forwarded-for"] ?? "").split(",");
      while (told.length > 0 && isTrusted(address)) {
        const next = plainAddress(told.pop()?.trim());
        if (isIP(next) === 0) break;
        address = next;
      }
    } else {
      for (const name of Object.keys(request.headers)) {
        if (name === "forwarded" || name === "x-real-ip" || name.startsWith("x-forwarded-"))
          delete request.headers[name];
      }
    }
    request.headers[clientAddressHeader] = address;
  };
}

/** Whether an address, as `plainAddress` gives it, is one of these proxies. */
export function createProxyCheck(trustedProxies: readonly string[]): (address: string) => boolean {
  const trusted = toBlockList(trustedProxies);
  return (address) => isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** A socket that listens on IPv6 shows IPv4 peers as ::ffff:1.2.3.4. */
export function plainAddress(address: string | undefined): string {
  return (address ?? "").replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

function toBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
