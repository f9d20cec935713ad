import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { Agent } from "undici";
import { expect, test } from "vitest";
import { createAgentClient } from "../agent/index.ts";
import { causes } from "../protocol/causes.ts";
import { createSidecarClient } from "./create-sidecar-client.ts";
import type { SidecarClient } from "./sidecar-client.ts";

/** A client of a door behind which anything may be. */
async function withDoor(listener: Server, work: (sidecar: SidecarClient) => Promise<void>): Promise<void> {
  const sockets = new Set<Socket>();
  listener.on("connection", (socket) => sockets.add(socket));
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const dispatcher = new Agent();
  const opened = async () => connect(port, "127.0.0.1");
  const sidecar = createSidecarClient({
    door: { origin: `http://127.0.0.1:${port}`, dispatcher, connect: opened },
    sandboxId: randomUUID(),
    bootId: randomUUID(),
    bootSecret: randomBytes(32),
    privateKey: generateKeyPairSync("ed25519").privateKey,
  });
  try {
    await work(sidecar);
  } finally {
    for (const socket of sockets) socket.destroy();
    listener.close();
    await dispatcher.destroy();
  }
}

const signal = () => AbortSignal.timeout(60_000);
const ask = (sidecar: SidecarClient) =>
  sidecar.json({ method: "GET", path: "/files", timeoutMilliseconds: 300, signal: signal() });
const saying = (name: keyof typeof causes) => ({ fault: name, ...causes[name] });

test("a sandbox that stands still did not answer in time", () =>
  withDoor(
    createServer(() => {}),
    async (sidecar) => {
      await expect(ask(sidecar)).rejects.toMatchObject(saying("sandbox-late"));
    },
  ));

test("a sandbox that hangs up, or is not there, cannot be reached", async () => {
  const hangsUp = createServer((request) => request.socket.destroy());
  await withDoor(hangsUp, async (sidecar) => {
    await expect(ask(sidecar)).rejects.toMatchObject(saying("sandbox-away"));
    hangsUp.close();
    hangsUp.closeAllConnections();
    await once(hangsUp, "close");
    await expect(ask(sidecar)).rejects.toMatchObject(saying("sandbox-away"));
  });
});

test("what answers in place of a sandbox is not believed", () =>
  withDoor(
    createServer((_request, response) => response.end('{"files":[]}')),
    async (sidecar) => {
      await expect(ask(sidecar)).rejects.toMatchObject(saying("sandbox-answer"));
    },
  ));

test("an agent that stands still behind its sidecar did not answer in time, and one out of reach says so", async () => {
  const silent = { send: () => new Promise(() => {}) } as unknown as SidecarClient;
  const frozen = createAgentClient({ sidecar: hearing(silent), timeouts: { request: 50 } });
  await expect(frozen.listBusy("/work", signal())).rejects.toMatchObject(saying("agent-late"));
  const broken = { send: () => Promise.reject(new Error("read ECONNRESET")) } as unknown as SidecarClient;
  const away = createAgentClient({ sidecar: broken });
  await expect(away.listBusy("/work", signal())).rejects.toMatchObject(saying("agent-away"));
});

/** A call ends with its signal, as every real one does. */
function hearing(sidecar: SidecarClient): SidecarClient {
  return {
    ...sidecar,
    send: (request) =>
      Promise.race([
        sidecar.send(request),
        new Promise<never>((_, reject) => {
          request.signal.addEventListener("abort", () => reject(request.signal.reason));
        }),
      ]),
  };
}
