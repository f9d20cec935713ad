import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createNameLookup, type NameLookup, type NameLookupOptions } from "./name-lookup.ts";
import { createSlots } from "./slots.ts";
import { type NameServer, startNameServer } from "./test-name-server.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function start(
  answers: Parameters<typeof startNameServer>[0],
  options: NameLookupOptions = {},
): Promise<{ names: NameLookup; server: NameServer }> {
  const server = await startNameServer(answers);
  const names = createNameLookup({ servers: [server.address], ...options });
  open.push(server.close, names.close);
  return { names, server };
}

const v4 = (address: string) => ({ address, family: 4 });
const v6 = (address: string) => ({ address, family: 6 });

describe("a name", () => {
  it("is looked up in both families, and unknown where it has neither", async () => {
    const { names } = await start((name) => ({
      addresses: name === "both.example" ? ["192.0.2.1", "2001:db8::1"] : [],
    }));
    expect(await names.find("both.example", "s")).toEqual([v4("192.0.2.1"), v6("2001:db8::1")]);
    expect(await names.find("none.example", "s")).toEqual([]);
  });

  it("is remembered as long as its answer says, and not at all where it says so", async () => {
    const { names, server } = await start((name) => ({
      addresses: ["192.0.2.1"],
      ttl: name.startsWith("kept") ? 60 : 0,
    }));
    for (const host of ["kept.example", "kept.example", "changing.example", "changing.example"]) {
      expect(await names.find(host, "s")).toEqual([v4("192.0.2.1")]);
    }
    expect(server.asked.filter((question) => question === "kept.example A")).toHaveLength(1);
    expect(server.asked.filter((question) => question === "changing.example A")).toHaveLength(2);
  });

  it("that many connections of a sandbox want at once is asked for once", async () => {
    const answer = Promise.withResolvers<void>();
    const { names, server } = await start(async () => {
      await answer.promise;
      return { addresses: ["192.0.2.1"] };
    });
    const asking = Array.from({ length: 30 }, () => names.find("registry.example", "s"));
    await expect.poll(() => server.asked.length).toBe(2);
    answer.resolve();
    expect(new Set(await Promise.all(asking))).toHaveLength(1);
  });

  it("with an address is not held up by a server that is deaf to IPv6", async () => {
    const { names } = await start(() => ({ addresses: ["192.0.2.1"], deaf6: true }), { timeoutMilliseconds: 600_000 });
    expect(await names.find("old.example", "s")).toEqual([v4("192.0.2.1")]);
  });

  it("that nobody answers for is given up", async () => {
    const { names } = await start(() => null, { timeoutMilliseconds: 50 });
    expect(await names.find("silent.example", "s")).toBe("late");
  });

  it("of the machine itself comes from its own list, and localhost is this machine", async () => {
    const folder = await mkdtemp(join(tmpdir(), "dormouse-hosts-"));
    open.push(() => rm(folder, { recursive: true }));
    const hostsFile = join(folder, "hosts");
    await writeFile(hostsFile, "# ours\n10.1.2.3\tMirror mirror.internal # the mirror\nfd00::3 mirror\nbroken line\n");
    const { names, server } = await start(() => null, { hostsFile });
    expect(await names.find("mirror", "s")).toEqual([v4("10.1.2.3"), v6("fd00::3")]);
    expect(await names.find("mirror.internal", "s")).toEqual([v4("10.1.2.3")]);
    expect(await names.find("a.localhost", "s")).toEqual([v4("127.0.0.1"), v6("::1")]);
    expect(server.asked).toEqual([]);
  });
});

describe("names that nobody answers for", () => {
  it("stop neither files nor other sandboxes, and wait for each other", async () => {
    const { names, server } = await start((name) => (name.startsWith("silent") ? null : { addresses: ["192.0.2.1"] }), {
      maxPerCaller: 4,
      maxAtOnce: 6,
      timeoutMilliseconds: 600_000,
    });
    let given = 0;
    const stuck = Array.from({ length: 20 }, (_, index) =>
      names.find(`silent${index}.example`, "greedy").then((found) => {
        given += 1;
        return found;
      }),
    );
    const hosts = () => new Set(server.asked.map((question) => question.split(" ")[0]));
    await expect.poll(() => hosts().size).toBe(4);
    expect(await names.find("plain.example", "other")).toEqual([v4("192.0.2.1")]);
    await readFile(import.meta.filename);
    expect(given).toBe(0);
    expect(hosts().size).toBe(5);
    names.close();
    expect(new Set(await Promise.all(stuck))).toEqual(new Set(["late"]));
  });
});

describe("slots", () => {
  it("are given in the order of asking, so many in all and to each", async () => {
    const slots = createSlots({ total: 3, perCaller: 2 });
    const never = new AbortController().signal;
    const begun: string[] = [];
    const take = async (caller: string) => {
      const release = await slots.take(caller, never);
      begun.push(caller);
      return release ?? (() => {});
    };
    const a = [take("a"), take("a"), take("a")];
    const b = [take("b"), take("b")];
    (await a[0])?.();
    await a[2];
    expect(begun).toEqual(["a", "a", "b", "a"]);
    (await b[0])?.();
    await b[1];
    expect(begun).toEqual(["a", "a", "b", "a", "b"]);
  });

  it("are not waited for any longer than wanted, and what left takes none", async () => {
    const slots = createSlots({ total: 1, perCaller: 1 });
    const release = await slots.take("a", new AbortController().signal);
    const leaving = new AbortController();
    const waiting = slots.take("b", leaving.signal);
    leaving.abort();
    expect(await waiting).toBeNull();
    release?.();
    expect(await slots.take("c", new AbortController().signal)).not.toBeNull();
    expect(await slots.take("d", AbortSignal.abort())).toBeNull();
  });
});
