import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { HostException } from "../config.ts";
import { refusalOfAddress } from "./public-address.ts";
import { permittedPorts, type Target } from "./target.ts";

export interface Checked {
  /** Where to connect: what was checked, so that a second look-up cannot lead elsewhere. Empty when only a proxy knows. */
  addresses: { address: string; family: 4 | 6 }[];
}

export interface EgressRules {
  kind: "open" | "off";
  allow: readonly HostException[];
  /** The machine's own proxy resolves names that this machine cannot. */
  proxied: boolean;
}

export interface Refusal {
  status: 403 | 502;
  reason: string;
}

export async function checkTarget(target: Target, rules: EgressRules): Promise<Checked | Refusal> {
  const { host, port } = target;
  const excepted = rules.allow.some(
    (one) => one.host === host && (one.port === null ? permittedPorts.includes(port) : one.port === port),
  );
  if (rules.kind === "off" && !excepted) return refuse("Sandboxes have no internet access here.");
  if (!excepted && !permittedPorts.includes(port)) {
    return refuse(`Sandboxes cannot use port ${port}. Allowed ports: ${permittedPorts.join(", ")}.`);
  }
  const found = await addressesOf(host);
  if (found.length === 0) {
    return rules.proxied ? { addresses: [] } : { status: 502, reason: `The host name ${host} was not found.` };
  }
  const addresses = excepted ? found : found.filter(({ address }) => refusalOfAddress(address) === null);
  if (addresses.length > 0) return { addresses };
  return refuse(`${host} is ${refusalOfAddress(found[0]?.address ?? "") ?? "refused"}, which sandboxes may not reach.`);
}

const refuse = (reason: string): Refusal => ({ status: 403, reason });

async function addressesOf(host: string): Promise<Checked["addresses"]> {
  const version = isIP(host);
  if (version !== 0) return [{ address: host, family: version as 4 | 6 }];
  // "No such name" and "no answer" are told alike: the sandbox can do nothing about either.
  const found = await lookup(host, { all: true, verbatim: true }).catch(() => []);
  return found.map(({ address, family }) => ({ address, family: family as 4 | 6 }));
}
