import { isIP } from "node:net";
import type { HostException } from "../config.ts";
import { type Address, lookupSeconds, type NameLookup } from "./name-lookup.ts";
import { refusalOfAddress } from "./public-address.ts";
import { permittedPorts, type Target } from "./target.ts";

export interface Checked {
  /** Where to connect: what was checked, so that a second look-up cannot lead elsewhere. Empty when only a proxy knows. */
  addresses: readonly Address[];
}

export interface EgressRules {
  kind: "open" | "off";
  allow: readonly HostException[];
}

export interface Refusal {
  status: 403 | 502 | 504;
  reason: string;
}

export interface TargetCheck {
  target: Target;
  /** The server's own: what a tenant's list says comes on top. */
  rules: EgressRules;
  permits(target: Target): Promise<boolean> | boolean;
  find(host: string): ReturnType<NameLookup["find"]>;
  /** The machine's own proxy resolves names that this machine cannot. */
  proxied: boolean;
}

/** A name that may not be reached is not looked up either: its look-up would carry it out. */
export async function checkTarget(check: TargetCheck): Promise<Checked | Refusal> {
  const { target, rules, proxied } = check;
  const { host, port } = target;
  const excepted = rules.allow.some(
    (one) => one.host === host && (one.port === null ? permittedPorts.includes(port) : one.port === port),
  );
  if (rules.kind === "off" && !excepted) return refuse("Sandboxes have no internet access here.");
  if (!excepted && !permittedPorts.includes(port)) {
    return refuse(`Port ${port} is not open to sandboxes. Allowed ports: ${permittedPorts.join(", ")}.`);
  }
  if (!(await check.permits(target))) {
    return refuse(
      `${host} is not on your organisation's list of allowed hosts. An admin can add it in Settings → Network.`,
    );
  }
  const version = isIP(host);
  const found = version === 0 ? await check.find(host) : [{ address: host, family: version as 4 | 6 }];
  if ((found === "late" || found.length === 0) && proxied) return { addresses: [] };
  if (found === "late") return { status: 504, reason: `${host} could not be looked up within ${lookupSeconds} s.` };
  if (found.length === 0) return { status: 502, reason: `The host name ${host} was not found.` };
  const addresses = excepted ? found : found.filter(({ address }) => refusalOfAddress(address) === null);
  if (addresses.length > 0) return { addresses };
  return refuse(`${host} is ${refusalOfAddress(found[0]?.address ?? "") ?? "refused"}, which sandboxes may not reach.`);
}

const refuse = (reason: string): Refusal => ({ status: 403, reason });
