import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reachDirectly } from "./reach.ts";

const server = createServer((socket) => socket.on("error", () => {}).pipe(socket));
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const reach = (signal: AbortSignal) =>
  reachDirectly(
    { host: "localhost", port: (server.address() as AddressInfo).port },
    { addresses: [{ address: "127.0.0.1", family: 4 }] },
    signal,
  );

describe("a connection", () => {
  it("stands when the time for making it is over", async () => {
    const patience = new AbortController();
    const socket = await reach(patience.signal);
    patience.abort();
    socket.write("still here");
    expect(String((await once(socket, "data"))[0])).toBe("still here");
    socket.destroy();
  });

  it("is not made any more when it is too late, and nothing of it is left over", async () => {
    await expect(reach(AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
    const leaving = new AbortController();
    const reaching = reach(leaving.signal);
    leaving.abort();
    await expect(reaching).rejects.toMatchObject({ name: "AbortError" });
  });
});
