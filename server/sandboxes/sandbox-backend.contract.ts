import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import type { SandboxBackend, SandboxDoor, SandboxSpec } from "./sandbox-backend.ts";

/** What a backend hands to its contract: itself, and how a life of a sandbox is told from another. */
export interface BackendUnderTest {
  backend: SandboxBackend;
  createSpec(sandboxId: string): SandboxSpec;
  /** The boot that answers at the door. */
  bootBehind(door: SandboxDoor): Promise<string>;
  /** A file of the sandbox, as its inside writes and reads it. */
  writeInside(door: SandboxDoor, content: string): Promise<void>;
  readInside(door: SandboxDoor): Promise<string>;
  /** What the sandbox gets when it calls the server. */
  callServer(door: SandboxDoor): Promise<string>;
  /** How the server answers when it asks for a way out. */
  callEgress(door: SandboxDoor): Promise<string>;
  /** Kills it as a crash would. */
  crash(door: SandboxDoor): Promise<void>;
  /** How many sidecars of this sandbox live. */
  countSidecars(sandboxId: string): Promise<number>;
  /** The same machine, as a server sees it that was started later. */
  createSuccessor(): Promise<SandboxBackend>;
  dispose(): Promise<void>;
}

const signal = () => AbortSignal.timeout(20_000);

/** Every backend behaves like this. */
export function describeSandboxBackend(name: string, create: () => Promise<BackendUnderTest>): void {
  describe(`a sandbox backend: ${name}`, () => {
    let test: BackendUnderTest;
    let sandboxId: string;
    let latest: SandboxAddress | null;
    beforeEach(async () => {
      test = await create();
      sandboxId = randomUUID();
      latest = null;
    });
    afterEach(async () => {
      await test.backend.terminate(sandboxId, latest, AbortSignal.abort());
      await test.dispose();
    });

    async function provision() {
      const spec = { ...test.createSpec(sandboxId), previous: latest };
      // As it comes back from the sandbox's row.
      const address = JSON.parse(JSON.stringify(await test.backend.provision(spec, signal()))) as SandboxAddress;
      latest = address;
      return { spec, address, door: await test.backend.connect(sandboxId, address) };
    }

    it("starts a sandbox whose door answers as this boot and that reaches the server", async () => {
      const { spec, address, door } = await provision();
      expect(await test.bootBehind(door)).toBe(spec.launch.bootId);
      expect(await test.callServer(door)).toBe("the server");
      expect(await test.callEgress(door)).toBe("the egress");
      expect(await test.countSidecars(sandboxId)).toBe(1);
      expect(await test.backend.report(sandboxId, address, signal())).toBe("present");
      expect(await test.backend.list(signal())).toContainEqual(expect.objectContaining({ sandboxId, running: true }));
    });

    it("lets a connection of its own be made to the same door", async () => {
      const { spec, door } = await provision();
      const socket = await door.connect();
      socket.end("GET /health HTTP/1.1\r\nhost: sandbox\r\nconnection: close\r\n\r\n");
      expect(await text(socket)).toContain(spec.launch.bootId);
    });

    it("says which isolations it can give, and gives no other", async () => {
      const isolations = await test.backend.isolations(signal());
      const { isolation } = test.createSpec(sandboxId);
      expect(isolations.find(({ name }) => name === isolation)).toMatchObject({ available: true });
      expect(new Set(isolations.map(({ name }) => name)).size).toBe(isolations.length);
      for (const offer of isolations) expect(offer.available ? offer.detail : offer.reason).not.toBe("");
      const unknown = { ...test.createSpec(sandboxId), isolation: "no such isolation" };
      await expect(test.backend.provision(unknown, signal())).rejects.toMatchObject({ kind: "unavailable" });
      expect(await test.countSidecars(sandboxId)).toBe(0);
    });

    it("ends what it lists, by the address that it lists", async () => {
      await provision();
      const listed = (await test.backend.list(signal())).find((sandbox) => sandbox.sandboxId === sandboxId);
      await test.backend.terminate(sandboxId, listed?.address ?? null, signal());
      expect(await test.countSidecars(sandboxId)).toBe(0);
    });

    it("keeps files when it ends a sandbox, and ends it as often as it is asked", async () => {
      const { address, door } = await provision();
      await test.writeInside(door, "kept");
      await test.backend.terminate(sandboxId, address, signal());
      await test.backend.terminate(sandboxId, address, signal());
      expect(await test.countSidecars(sandboxId)).toBe(0);
      expect(await test.backend.report(sandboxId, address, signal())).toBe("gone");
      expect(await test.backend.list(signal())).toContainEqual(expect.objectContaining({ sandboxId, running: false }));
      const again = await provision();
      expect(await test.readInside(again.door)).toBe("kept");
    });

    it("ends the earlier life before it starts the next", async () => {
      const first = await provision();
      const second = await provision();
      expect(await test.bootBehind(second.door)).toBe(second.spec.launch.bootId);
      expect(second.spec.launch.bootId).not.toBe(first.spec.launch.bootId);
      expect(await test.countSidecars(sandboxId)).toBe(1);
    });

    it("says that a crashed sandbox is gone, and starts it again", async () => {
      const { address, door } = await provision();
      await test.crash(door).catch(() => {});
      await expect.poll(() => test.backend.report(sandboxId, address, signal()), { timeout: 10_000 }).toBe("gone");
      const again = await provision();
      expect(await test.bootBehind(again.door)).toBe(again.spec.launch.bootId);
      expect(await test.countSidecars(sandboxId)).toBe(1);
    });

    it("lets a later server use and end what an earlier one started", async () => {
      const { spec, address } = await provision();
      await test.backend.close();
      const successor = await test.createSuccessor();
      try {
        const door = await successor.connect(sandboxId, address);
        expect(await test.bootBehind(door)).toBe(spec.launch.bootId);
        expect(await test.callServer(door)).toBe("the server");
        expect(await test.callEgress(door)).toBe("the egress");
        await successor.terminate(sandboxId, address, signal());
        expect(await test.countSidecars(sandboxId)).toBe(0);
      } finally {
        await successor.close();
      }
    });

    it("knows nothing of a sandbox that never was", async () => {
      expect(await test.backend.report(sandboxId, null, signal())).toBe("gone");
      await test.backend.terminate(sandboxId, null, signal());
    });

    it("gives up when it is told to, and leaves nothing running", async () => {
      const aborted = AbortSignal.abort(new Error("enough"));
      await expect(test.backend.provision(test.createSpec(sandboxId), aborted)).rejects.toThrow("enough");
      expect(await test.countSidecars(sandboxId)).toBe(0);
    });
  });
}
