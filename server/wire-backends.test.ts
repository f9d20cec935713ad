import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { parseConfig } from "./config.ts";
import { AppError } from "./errors.ts";
import type { Isolation, SandboxBackend } from "./sandboxes/sandbox-backend.ts";
import { testRequests } from "./sandboxes/test/test-sandbox.ts";
import { type BackendInput, wireBackends } from "./wire-backends.ts";

const tight: Isolation = { name: "tight", confined: true, available: true, detail: "walls" };
const noWalls: Isolation = { name: "tight", confined: true, available: false, reason: "Build walls." };
const loose: Isolation = { name: "loose", confined: false, available: true, detail: "none" };
const noLoose: Isolation = { name: "loose", confined: false, available: false, reason: "Not allowed." };

/** A backend of which nothing is asked but what it offers. */
function offers(isolations: Isolation[], seen: BackendInput[] = []) {
  return (input: BackendInput) => {
    seen.push(input);
    return { kind: "test", isolations: async () => isolations, close: async () => {} } as unknown as SandboxBackend;
  };
}

function wire(makers: Record<string, (input: BackendInput) => SandboxBackend>, environment = {}) {
  return wireBackends({
    config: parseConfig(environment),
    root: "/nowhere",
    home: "/nowhere",
    requests: testRequests,
    isSandbox: async ({ authorization }) => authorization === "Bearer good",
    onListenerError: () => {},
    stopping: new AbortController().signal,
    makers,
  });
}

describe("the map of backends", () => {
  it("says what the first can give, and why it is not more", async () => {
    const isolationOf = async (...isolations: Isolation[]) => (await wire({ test: offers(isolations) })).isolation;
    expect(await isolationOf(tight, loose)).toEqual({ kind: "sandboxed", detail: "walls" });
    expect(await isolationOf(noWalls, loose)).toEqual({ kind: "host", reason: "Build walls." });
    await expect(isolationOf(noWalls, noLoose)).rejects.toThrow("Build walls.");
  });

  it("stops the start with the words of a backend that cannot be made", async () => {
    const make = () => {
      throw new AppError("unavailable", "A program is missing.");
    };
    await expect(wire({ test: make })).rejects.toMatchObject({ name: "BootError", message: "A program is missing." });
  });

  it("chooses by the kind on a sandbox's row", async () => {
    const { backends } = await wire({ test: offers([tight]) });
    expect(backends.require("test")).toBe(backends.preferred);
    expect(backends.find("docker")).toBeNull();
    expect(() => backends.require("docker")).toThrow("docker, which is not set up here");
  });

  it("serves sandboxes on an address where one is configured, and says which", async () => {
    const seen: BackendInput[] = [];
    const makers = { test: offers([tight], seen) };
    await wire(makers);
    const wired = await wire(makers, { DORMOUSE_SANDBOX_LISTEN: "127.0.0.1:0" });
    const [without, given] = seen.map(({ serverUrl }) => serverUrl);
    expect(without).toBeNull();
    const statusOf = async (authorization: string) => {
      const call = request(`${given}/api/llm/demo/models`, { headers: { authorization }, agent: false }).end();
      const [response] = await once(call, "response");
      response.resume();
      return response.statusCode;
    };
    expect(await statusOf("Bearer good")).toBe(200);
    expect(await statusOf("Bearer bad")).toBe(401);
    await wired.close();
    await expect(statusOf("Bearer good")).rejects.toThrow("ECONNREFUSED");
  });

  it("tells sandboxes the name that is configured for them, with the port that was bound", async () => {
    const seen: BackendInput[] = [];
    const environment = { DORMOUSE_SANDBOX_LISTEN: "0.0.0.0:0", DORMOUSE_SANDBOX_HOST: "dormouse.example.internal" };
    const wired = await wire({ test: offers([tight], seen) }, environment);
    expect(seen[0]?.serverUrl).toMatch(/^http:\/\/dormouse\.example\.internal:[1-9]\d*$/);
    await wired.close();
  });

  it("names the variable when that address cannot be had", async () => {
    const taken = createServer().listen({ host: "127.0.0.1", port: 0 });
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const wiring = wire({ test: offers([tight]) }, { DORMOUSE_SANDBOX_LISTEN: `127.0.0.1:${port}` });
    await expect(wiring).rejects.toThrow("DORMOUSE_SANDBOX_LISTEN");
    taken.close();
  });
});
