import { createServer, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { listen } from "./listen.ts";

const servers: Server[] = [];
const makeServer = () => {
  const server = createServer();
  servers.push(server);
  return server;
};
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const anyPort = { kind: "fixed", port: 0 } as const;

describe("listening", () => {
  it("moves on from a taken default, and says so", async () => {
    const taken = await listen({ server: makeServer(), host: "127.0.0.1", port: anyPort });
    const said: string[] = [];
    const port = { kind: "default", port: taken.port } as unknown as { kind: "default"; port: 3000 };
    const found = await listen({ server: makeServer(), host: "127.0.0.1", port, onMoved: (line) => said.push(line) });
    expect(found.port).toBeGreaterThan(taken.port);
    expect(said).toEqual([`Port ${taken.port} is taken: using ${found.port}`]);
  });

  it("never replaces a port that was asked for", async () => {
    const { port } = await listen({ server: makeServer(), host: "127.0.0.1", port: anyPort });
    const second = listen({ server: makeServer(), host: "127.0.0.1", port: { kind: "fixed", port } });
    await expect(second).rejects.toThrow(`Port ${port} is taken by`);
  });

  it("names the variable that has to change", async () => {
    const variables = { host: "SOME_ADDRESS", port: "SOME_ADDRESS" };
    const { port } = await listen({ server: makeServer(), host: "127.0.0.1", port: anyPort });
    const second = listen({ server: makeServer(), host: "127.0.0.1", port: { kind: "fixed", port }, variables });
    await expect(second).rejects.toThrow(/set SOME_ADDRESS to another port/);
  });

  it("knows whether other machines can reach it", async () => {
    const beyond = await listen({ server: makeServer(), host: "0.0.0.0", port: anyPort });
    expect(beyond).toMatchObject({ beyondLoopback: true, url: `http://127.0.0.1:${beyond.port}` });
    for (const host of ["127.0.0.1", "localhost"]) {
      const near = await listen({ server: makeServer(), host, port: anyPort });
      expect(near).toMatchObject({ beyondLoopback: false, url: `http://${host}:${near.port}` });
    }
  });

  it.each([
    ["192.0.2.1", "This machine has no address 192.0.2.1"],
    ["nowhere.invalid", "The name nowhere.invalid cannot be resolved"],
  ])("explains why it cannot listen on %s", async (host, sentence) => {
    await expect(listen({ server: makeServer(), host, port: anyPort })).rejects.toThrow(sentence);
  });
});
