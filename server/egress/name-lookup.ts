import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { createSlots } from "./slots.ts";

export interface Address {
  address: string;
  family: 4 | 6;
}

/**
 * How names of targets become addresses. `dns.lookup` would do it on the four threads that files and
 * hashes need too, where names that nobody answers for stop everything; these are asked over sockets of their
 * own, so many at a time, and given up after a while.
 */
export interface NameLookup {
  /** Empty for a name that is not known; `late` when nobody said so in time. `caller` may have so many under way. */
  find(host: string, caller: string): Promise<readonly Address[] | "late">;
  /** Ends what is under way. */
  close(): void;
}

export interface NameLookupOptions {
  /** Name servers instead of the machine's. */
  servers?: readonly string[];
  hostsFile?: string;
  timeoutMilliseconds?: number;
  maxAtOnce?: number;
  maxPerCaller?: number;
}

export const lookupSeconds = 5;
/** A server that drops questions for IPv6 is not waited for when there is an answer already. */
const otherFamilyMilliseconds = 250;
const tryMilliseconds = 1_500;
const hostsMilliseconds = 5_000;
const maxRemembered = 1_000;
const maxRememberedSeconds = 300;
const loopback: readonly Address[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

export function createNameLookup(options: NameLookupOptions = {}): NameLookup {
  const { servers, hostsFile = "/etc/hosts", timeoutMilliseconds = lookupSeconds * 1000 } = options;
  const slots = createSlots({ total: options.maxAtOnce ?? 256, perCaller: options.maxPerCaller ?? 16 });
  const closing = new AbortController();
  const remembered = new Map<string, { addresses: readonly Address[]; until: number }>();
  const underWay = new Map<string, Promise<readonly Address[] | "late">>();
  let hosts: { names: Promise<ReadonlyMap<string, Address[]>>; until: number } | null = null;

  function ownNames(): Promise<ReadonlyMap<string, Address[]>> {
    if (!hosts || hosts.until <= performance.now()) {
      hosts = { names: readHosts(hostsFile), until: performance.now() + hostsMilliseconds };
    }
    return hosts.names;
  }

  async function ask(host: string, caller: string): Promise<readonly Address[] | "late"> {
    const over = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMilliseconds)]);
    const release = await slots.take(caller, over);
    if (!release) return "late";
    // One for each name: giving up ends all that a resolver asks.
    const resolver = new Resolver({ timeout: tryMilliseconds, tries: 3 });
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    over.addEventListener("abort", cancel);
    try {
      const { addresses, seconds, late } = await resolveBoth(resolver, host);
      if (addresses.length > 0) remember(host, addresses, seconds);
      return addresses.length === 0 && late ? "late" : addresses;
    } finally {
      over.removeEventListener("abort", cancel);
      release();
    }
  }

  function remember(host: string, addresses: readonly Address[], seconds: number): void {
    if (seconds <= 0) return;
    remembered.delete(host);
    remembered.set(host, { addresses, until: performance.now() + Math.min(seconds, maxRememberedSeconds) * 1000 });
    const oldest = remembered.size > maxRemembered ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
  }

  return {
    async find(host, caller) {
      const own = (await ownNames()).get(host);
      if (own) return own;
      if (host === "localhost" || host.endsWith(".localhost")) return loopback;
      const known = remembered.get(host);
      if (known && known.until > performance.now()) return known.addresses;
      // Never shared between callers: one that waits for its turn would keep the other waiting.
      const key = `${caller} ${host}`;
      const shared = underWay.get(key);
      if (shared) return shared;
      const asking = ask(host, caller).finally(() => underWay.delete(key));
      underWay.set(key, asking);
      return asking;
    },
    close: () => closing.abort(),
  };
}

interface Answer {
  addresses: Address[];
  /** How long they may be remembered. */
  seconds: number;
  /** Nobody answered, which is not "there is none". */
  late: boolean;
}

/** IPv4 first: not every machine that is told of IPv6 has a way there. */
async function resolveBoth(resolver: Resolver, host: string): Promise<Answer> {
  const asked = [
    answerOf(resolver.resolve4(host, { ttl: true }), 4),
    answerOf(resolver.resolve6(host, { ttl: true }), 6),
  ];
  const both = Promise.all(asked);
  await Promise.race([both, ...asked.map(someTimeAfterFound)]);
  resolver.cancel();
  const answers = await both;
  return {
    addresses: answers.flatMap(({ addresses }) => addresses),
    seconds: Math.min(...answers.map(({ seconds }) => seconds)),
    late: answers.some(({ late }) => late),
  };
}

function answerOf(records: Promise<{ address: string; ttl: number }[]>, family: 4 | 6): Promise<Answer> {
  return records.then(
    (found) => ({
      addresses: found.map(({ address }) => ({ address, family })),
      seconds: Math.min(...found.map(({ ttl }) => ttl)),
      late: false,
    }),
    ({ code }: NodeJS.ErrnoException) => ({
      addresses: [],
      seconds: Number.POSITIVE_INFINITY,
      late: code === "ETIMEOUT" || code === "ECANCELLED",
    }),
  );
}

/** Stays pending without addresses. */
function someTimeAfterFound(answer: Promise<Answer>): Promise<void> {
  return new Promise((resolve) => {
    void answer.then(({ addresses }) => addresses.length > 0 && setTimeout(resolve, otherFamilyMilliseconds).unref());
  });
}

/** `address name name …` in each line. A machine without the file has no names of its own. */
async function readHosts(path: string): Promise<ReadonlyMap<string, Address[]>> {
  const text = await readFile(path, "utf8").catch(() => "");
  const names = new Map<string, Address[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...given] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    if (family !== 4 && family !== 6) continue;
    for (const name of given) names.set(name, [...(names.get(name) ?? []), { address, family }]);
  }
  return names;
}
