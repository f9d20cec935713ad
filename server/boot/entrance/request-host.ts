import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

const form = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9_.-]{1,254}))(?::(\d{1,5}))?$/;

export interface RequestHost {
  /** In lower case, without brackets and without the dot that a full name may end with. */
  name: string;
  /** As it stands in an address. */
  host: string;
}

/** Null when there is none, more than one, or none that an address could have: with a user, a zone, or nonsense. */
export function readHost(request: Pick<IncomingMessage, "headers" | "rawHeaders">): RequestHost | null {
  const { rawHeaders } = request;
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  const [, address, given, port] = form.exec(request.headers.host?.toLowerCase() ?? "") ?? [];
  const name = address ?? given?.replace(/\.$/, "");
  if (count !== 1 || !name || Number(port ?? 0) > 65_535) return null;
  if (address !== undefined && isIP(address) !== 6) return null;
  return { name, host: `${address ? `[${address}]` : name}${port ? `:${port}` : ""}` };
}

/**
 * A page can make its own name lead to this machine and is then, to the browser, of the same origin. So names are
 * answered only when they are expected. Addresses and `localhost` cannot be made to lead elsewhere.
 *
 * @param expected names in lower case; with a leading dot, every name that ends so
 */
export function isExpectedHost(name: string, expected: readonly string[]): boolean {
  if (isIP(name) !== 0 || name === "localhost") return true;
  return expected.some((entry) => (entry.startsWith(".") ? name.endsWith(entry) : name === entry));
}
