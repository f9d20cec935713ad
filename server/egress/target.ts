import { isIP } from "node:net";

export interface Target {
  /** Lower case, without brackets or a final dot. */
  host: string;
  port: number;
}

/** HTTP, HTTPS, SSH and git. Exceptions that name a port may go elsewhere. */
export const permittedPorts: readonly number[] = [80, 443, 22, 9418];

/** The `host:port` of a CONNECT; null when it is anything else. */
export function parseTarget(authority: string): Target | null {
  const match = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9_.-]{1,253})):(\d{1,5})$/i.exec(authority);
  const host = (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, "");
  const port = Number(match?.[3]);
  if (!host || port < 1 || port > 65535) return null;
  if (match?.[1] && isIP(host) !== 6) return null;
  // Resolvers read 127.1, 0x7f000001 or 2130706433 as addresses; a name never ends in a number.
  if (match?.[2] && isIP(host) === 0 && /(^|\.)(0x[0-9a-f]*|\d+)$/.test(host)) return null;
  return { host, port };
}
