import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminInput, createTestAccounts, type TestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "../auth/index.ts";
import { createNetwork } from "./create-network.ts";
import { formatHostRule, matchesHostRule, parseHostRule } from "./host-rule.ts";

let accounts: TestAccounts;
let admin: Viewer;
let person: Viewer;
beforeAll(async () => {
  accounts = await createTestAccounts();
  await accounts.accounts.completeFirstRun(adminInput);
  admin = await accounts.signIn(adminInput.email);
  person = await accounts.addPerson(admin, "bo@example.org");
});
afterAll(async () => {
  await accounts[Symbol.asyncDispose]();
});

const mirror = { host: "mirror.internal", port: 8443 };
const start = () => createNetwork({ database: accounts.database, server: { kind: "open", allow: [mirror] } });
const callerOf = ({ tenantId, userId }: Viewer) => ({ sandboxId: "s", tenantId, userId });

describe("a line of the list", () => {
  it.each([
    ["Packages.Example.com.", "packages.example.com"],
    [" *.example.org ", "*.example.org"],
    ["example.org:443", "example.org:443"],
    ["*.example.org:22", "*.example.org:22"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["192.0.2.1", "192.0.2.1"],
    ["[2001:db8::1]:443", "[2001:db8::1]:443"],
    ["mirror", "mirror"],
  ])("%s is kept as %s", (text, kept) => {
    const rule = parseHostRule(text);
    expect(rule && formatHostRule(rule)).toBe(kept);
  });

  it.each(["https://example.org", "example.org/path", "*", "a.*.org", "*example.org", "me@example.org", "a b", "x:0"])(
    "%s is none",
    (text) => expect(parseHostRule(text)).toBeNull(),
  );

  it.each(["", "example..org", "127.1", "example.org:99999", `${"x".repeat(64)}.org`, "::1", "[::1"])(
    "%s is none either",
    (text) => expect(parseHostRule(text)).toBeNull(),
  );

  it("stands for a host, for all below it, and for one port where it names one", () => {
    const matches = (text: string, host: string, port = 443) =>
      matchesHostRule(parseHostRule(text) as NonNullable<ReturnType<typeof parseHostRule>>, { host, port });
    expect(matches("example.org", "example.org")).toBe(true);
    expect(matches("example.org", "www.example.org")).toBe(false);
    expect(matches("*.example.org", "a.b.example.org")).toBe(true);
    expect(matches("*.example.org", "example.org")).toBe(false);
    expect(matches("*.example.org", "badexample.org")).toBe(false);
    expect(matches("example.org:443", "example.org", 80)).toBe(false);
  });
});

describe("a tenant's network rule", () => {
  it("lets everything through until an admin lists hosts; then those only, and is told to everyone", async () => {
    const network = start();
    const caller = callerOf(person);
    const packages = { host: "packages.example.com", port: 443 };
    expect(await network.settings(person)).toEqual({
      rule: "public",
      hosts: [],
      server: { internet: true, exceptions: ["mirror.internal:8443"] },
    });
    expect(await network.permits(caller, { host: "example.org", port: 443 })).toBe(true);
    const hosts = ["Packages.Example.com", "", "packages.example.com", "mirror.internal:8443"];
    const stored = { rule: "listed", hosts: ["packages.example.com", "mirror.internal:8443"] };
    expect(await network.choose(admin, { rule: "listed", hosts })).toEqual(stored);
    expect(await network.settings(person)).toMatchObject(stored);
    expect(await network.permits(caller, packages)).toBe(true);
    expect(await network.permits(caller, { host: "example.org", port: 443 })).toBe(false);
    // Another replica reads what is stored.
    expect(await start().permits(caller, { host: "example.org", port: 443 })).toBe(false);
    const [entry] = await accounts.database.transaction(admin, (tx) =>
      tx.execute(sql`select action, detail from audit order by at desc limit 1`),
    );
    expect(entry).toMatchObject({ action: "network-choose", detail: stored });
  });

  it("is not changed by anybody but an admin, nor by what is no list of hosts", async () => {
    const network = start();
    const before = await network.settings(admin);
    await expect(network.choose(person, { rule: "public", hosts: [] })).rejects.toMatchObject({ kind: "forbidden" });
    const refused = (hosts: string[]) => network.choose(admin, { rule: "listed", hosts });
    await expect(refused(["example.org", "https://example.net"])).rejects.toMatchObject({
      kind: "invalid-input",
      message: expect.stringContaining("“https://example.net” is not a host name."),
    });
    await expect(refused(["example.org:5432"])).rejects.toMatchObject({
      message: expect.stringContaining("port 5432 is closed on this server"),
    });
    await expect(refused(Array.from({ length: 201 }, (_, index) => `h${index}.example`))).rejects.toMatchObject({
      message: "The list has 201 hosts. The limit is 200.",
    });
    expect(await network.settings(admin)).toEqual(before);
  });

  it("lets nothing through when it cannot be read", async () => {
    const stranger = { sandboxId: "s", tenantId: crypto.randomUUID(), userId: crypto.randomUUID() };
    await expect(start().permits(stranger, { host: "example.org", port: 443 })).rejects.toThrow();
  });
});
