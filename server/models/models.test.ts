import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminInput, createTestAccounts, type TestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "../auth/index.ts";
import { createOutbound } from "../lib/outbound.ts";
import { createSecretBox } from "../lib/secret-box.ts";
import { createModels } from "./create-models.ts";
import type { Models } from "./index.ts";

// The only fake is the provider itself.
let test: TestAccounts;
let admin: Viewer;
let person: Viewer;
const secretBox = createSecretBox(randomBytes(32));
let models: Models;
let provider: Server;
let address: string;
let seen: { url: string; authorization: string | undefined; apiKey: string | string[] | undefined }[] = [];

beforeAll(async () => {
  test = await createTestAccounts();
  await test.accounts.completeFirstRun(adminInput);
  admin = await test.signIn(adminInput.email);
  person = await test.addPerson(admin, "bo@example.org");
  models = createModels({
    database: test.database,
    secretBox,
    outbound: createOutbound({ http: null, https: null, except: "" }),
  });
  provider = createServer((request, response) => {
    const { authorization, "x-api-key": apiKey } = request.headers;
    seen.push({ url: request.url ?? "", authorization, apiKey });
    if (request.url === "/html/models") return response.end("<html>");
    if (request.url === "/moved/models") return response.writeHead(302, { location: "/v1/models" }).end();
    if (request.url !== "/v1/models") return response.writeHead(404).end();
    if (authorization !== "Bearer sk-canary-1234" && apiKey !== "sk-canary-1234") return response.writeHead(401).end();
    return response.end(JSON.stringify({ data: [{ id: "small" }, { id: "large", display_name: "Large" }] }));
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
afterAll(async () => {
  provider.close();
  await test[Symbol.asyncDispose]();
});

const add = (change: object = {}) =>
  models.addProvider(admin, {
    kind: "openai-compatible",
    name: "Local",
    baseUrl: `${address}/v1/`,
    key: "sk-canary-1234",
    ...change,
  });
const signal = () => new AbortController().signal;

describe("a provider", () => {
  it("keeps its key sealed, shows its end only and is tested with it", async () => {
    const added = await add();
    expect(added).toMatchObject({ keyEnding: "1234", baseUrl: `${address}/v1`, models: [], lastTest: null });
    expect(JSON.stringify(added)).not.toContain("sk-canary");
    const owner = postgres(test.ownerUrl);
    const dump = JSON.stringify(await owner`select providers.*, audit.detail from providers, audit`);
    await owner.end();
    expect(dump).not.toContain("sk-canary");
    const tested = await models.testProvider(admin, added.id, signal());
    expect(tested.lastTest).toMatchObject({ ok: true, modelCount: 2 });
    expect(tested.models).toEqual([
      { id: "small", name: "small", enabled: true },
      { id: "large", name: "Large", enabled: true },
    ]);
  });

  it("of Anthropic is asked with its own headers", async () => {
    const added = await add({ kind: "anthropic", name: "Anthropic" });
    seen = [];
    expect((await models.testProvider(admin, added.id, signal())).lastTest).toMatchObject({ ok: true });
    expect(seen).toEqual([{ url: "/v1/models", authorization: undefined, apiKey: "sk-canary-1234" }]);
  });

  it.each([
    ["a wrong key", { key: "sk-wrong" }, "refused the key"],
    ["a wrong path", { path: "/v2" }, "does not exist"],
    ["something that is no provider", { path: "/html" }, "not with a list of models"],
    ["a redirect, which the key does not follow", { path: "/moved" }, "cannot be reached"],
    ["nobody at home", { baseUrl: "http://127.0.0.1:1/v1" }, "cannot be reached"],
  ])("with %s says so", async (_name, change, message) => {
    const { path, ...rest } = change as { path?: string };
    const added = await add({ ...rest, ...(path ? { baseUrl: `${address}${path}` } : {}) });
    const { lastTest } = await models.testProvider(admin, added.id, signal());
    expect(lastTest).toMatchObject({ ok: false, message: expect.stringContaining(message) });
    expect(JSON.stringify(lastTest)).not.toContain("sk-");
  });

  it("is reached as its models are called: through the machine's proxy", async () => {
    const proxy = createServer((request, response) => {
      seen.push({ url: request.url ?? "", authorization: request.headers.authorization, apiKey: undefined });
      response.end(JSON.stringify({ data: [{ id: "far" }] }));
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const http = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const outbound = createOutbound({ http, https: null, except: "" });
    const own = createModels({ database: test.database, secretBox, outbound });
    const added = await add({ baseUrl: "http://provider.invalid/v1" });
    seen = [];
    expect((await own.testProvider(admin, added.id, signal())).lastTest).toMatchObject({ ok: true, modelCount: 1 });
    expect(seen[0]).toMatchObject({ url: "http://provider.invalid/v1/models", authorization: "Bearer sk-canary-1234" });
    await outbound.destroy();
    proxy.close();
  });

  it("forgets its key when its address changes, unless a new one is given", async () => {
    const added = await add();
    expect((await models.updateProvider(admin, added.id, { name: "Renamed" })).keyEnding).toBe("1234");
    expect((await models.updateProvider(admin, added.id, { baseUrl: "http://127.0.0.1:9/v1" })).keyEnding).toBeNull();
    const again = await models.updateProvider(admin, added.id, { baseUrl: `${address}/v1`, key: "sk-canary-1234" });
    expect(again.keyEnding).toBe("1234");
    expect((await models.testProvider(admin, added.id, signal())).lastTest).toMatchObject({ ok: true });
  });

  it.each([
    [{ kind: "openai", key: undefined, baseUrl: undefined }, "needs a key"],
    [{ baseUrl: undefined }, "Enter the address"],
    [{ baseUrl: "ftp://example.org" }, "must begin with http"],
    [{ baseUrl: "https://user:pw@example.org/v1" }, "must not contain a password"],
    [{ key: "sk with spaces" }, "cannot contain spaces"],
    [{ name: " " }, "name"],
  ])("given as %j is refused", async (change, message) => {
    await expect(add(change)).rejects.toThrow(message);
  });

  it("is an admin's to change, and everyone's of the tenant to see", async () => {
    const added = await add();
    const input = { kind: "openai", name: "x", key: "k" } as const;
    await expect(models.addProvider(person, input)).rejects.toMatchObject({ kind: "forbidden" });
    await expect(models.removeProvider(person, added.id)).rejects.toMatchObject({ kind: "forbidden" });
    await expect(models.testProvider(person, added.id, signal())).rejects.toMatchObject({ kind: "forbidden" });
    expect((await models.settings(person)).providers.map(({ id }) => id)).toContain(added.id);
  });
});

describe("the default model", () => {
  it("is the demo model until one is chosen, and again when its model or provider goes", async () => {
    const added = await models.testProvider(admin, (await add()).id, signal());
    expect((await models.settings(person)).defaultModel).toBeNull();
    await models.chooseDefault(admin, { providerId: added.id, modelId: "large" });
    expect((await models.settings(person)).defaultModel).toMatchObject({ modelId: "large", label: "Large · Local" });
    await models.chooseModels(admin, added.id, [{ id: "small", name: "small", enabled: true }]);
    expect((await models.settings(person)).defaultModel).toBeNull();
    await models.chooseDefault(admin, { providerId: added.id, modelId: "small" });
    await models.removeProvider(admin, added.id);
    expect((await models.settings(person)).defaultModel).toBeNull();
  });

  it("can only be one that is offered", async () => {
    const added = await add();
    await models.chooseModels(admin, added.id, [
      { id: "on", name: "On", enabled: true },
      { id: "off", name: "Off", enabled: false },
    ]);
    for (const modelId of ["off", "absent"]) {
      await expect(models.chooseDefault(admin, { providerId: added.id, modelId })).rejects.toMatchObject({
        kind: "conflict",
      });
    }
    const tested = await models.testProvider(admin, added.id, signal());
    expect(tested.models.map(({ id }) => id)).toEqual(["small", "large", "on", "off"]);
    expect(tested.models.find(({ id }) => id === "on")?.enabled).toBe(true);
    expect(tested.models.find(({ id }) => id === "small")?.enabled).toBe(false);
    const twice = [
      { id: "a", name: "A", enabled: true },
      { id: "a", name: "A", enabled: false },
    ];
    await expect(models.chooseModels(admin, added.id, twice)).rejects.toThrow("only once");
  });
});
