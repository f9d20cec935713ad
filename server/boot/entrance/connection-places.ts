import { isIPv6, type Socket } from "node:net";
import { plainAddress } from "../trusted-client-address.ts";
import { type Refusal, refusal } from "./refusal.ts";

export interface ConnectionLimits {
  /** Of all clients together. */
  inAll: number;
  /** Of one client; IPv6 gives a client a whole network, which counts as one. */
  perAddress: number;
}

/** How many are let in above the limits, to be told so: what watches over the server is still answered there. */
const reserve = 50;

/**
 * Counts connections, and requests by who really makes them, since a proxy brings those of many over a few connections.
 * Beyond a limit new ones are refused; those that are open stay.
 */
export function createConnectionPlaces({ inAll, perAddress }: ConnectionLimits, isProxy: (address: string) => boolean) {
  const byPeer = createCounts();
  const byClient = createCounts();
  const excess = new WeakMap<Socket, Refusal>();
  let open = 0;

  const tooMany = refusal(
    "unavailable",
    "This server has as many connections open as it may have. Try again in a moment.",
  );
  const tooManyOfOne = refusal(
    "limit-exceeded",
    `Your address has ${perAddress} connections open, which is the limit. Close some, then try again.`,
  );

  return {
    connect(socket: Socket): void {
      const address = plainAddress(socket.remoteAddress);
      const peer = networkOf(address);
      const counted = isProxy(address) ? 0 : byPeer.add(peer);
      open += 1;
      socket.once("close", () => {
        open -= 1;
        if (counted > 0) byPeer.remove(peer);
      });
      if (open > inAll + reserve || counted > perAddress + reserve) socket.destroy();
      else if (open > inAll) excess.set(socket, tooMany);
      else if (counted > perAddress) excess.set(socket, tooManyOfOne);
    },
    /** Why a request cannot be taken; where it can, `leave` is called at its end. */
    enter(socket: Socket, client: string): { refused: Refusal } | { refused: null; leave: () => void } {
      const refused = excess.get(socket);
      if (refused) return { refused };
      const network = networkOf(client);
      const leave = () => byClient.remove(network);
      if (byClient.add(network) <= perAddress) return { refused: null, leave };
      leave();
      return { refused: tooManyOfOne };
    },
  };
}

function createCounts() {
  const counts = new Map<string, number>();
  return {
    add(key: string): number {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return count;
    },
    remove(key: string): void {
      const count = (counts.get(key) ?? 0) - 1;
      if (count > 0) counts.set(key, count);
      else counts.delete(key);
    },
  };
}

/** The first half of an IPv6 address, all of any other. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const before = head.split(":").filter(Boolean);
  const after = tail?.split(":").filter(Boolean) ?? [];
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: missing }, () => "0"), ...after];
  return groups.slice(0, 4).join(":");
}
