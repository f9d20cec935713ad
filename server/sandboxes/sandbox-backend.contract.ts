import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
    beforeEach(async () => {
      test = await create();
      sandboxId = randomUUID();
    });
    afterEach(async () => {
      await test.backend.terminate(sandboxId, null, AbortSignal.abort());
      await test.dispose();
    });

    async function provision() {
      const spec = test.createSpec(sandboxId);
      const address = await test.backend.provision(spec, signal());
      return { spec, address, door: await test.backend.connect(sandboxId, address) };
    }

    it("starts a sandbox whose door answers as this boot and that reaches the server", async () => {
      const { spec, address, door } = await provision();
      expect(await test.bootBehind(door)).toBe(spec.launch.bootId);
      expect(await test.callServer(door)).toBe("the server");
      expect(await test.countSidecars(sandboxId)).toBe(1);
      expect(await test.backend.report(sandboxId, address, signal())).toBe("present");
      expect(await test.backend.list(signal())).toContainEqual({ sandboxId, running: true });
    });

    it("keeps files when it ends a sandbox, and ends it as often as it is asked", async () => {
      const { address, door } = await provision();
      await test.writeInside(door, "kept");
      await test.backend.terminate(sandboxId, address, signal());
      await test.backend.terminate(sandboxId, address, signal());
      expect(await test.countSidecars(sandboxId)).toBe(0);
      expect(await test.backend.report(sandboxId, address, signal())).toBe("gone");
      expect(await test.backend.list(signal())).toContainEqual({ sandboxId, running: false });
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
        await successor.terminate(sandboxId, address, signal());
        expect(await test.countSidecars(sandboxId)).toBe(0);
      } finally {
        await successor.close();
      }
    });

    it("knows nothing of a sandbox that never was", async () => {
      const address = { backend: "local" as const };
      expect(await test.backend.report(sandboxId, address, signal())).toBe("gone");
      await test.backend.terminate(sandboxId, null, signal());
    });

    it("gives up when it is told to, and leaves nothing running", async () => {
      const aborted = AbortSignal.abort(new Error("enough"));
      await expect(test.backend.provision(test.createSpec(sandboxId), aborted)).rejects.toThrow("enough");
      expect(await test.countSidecars(sandboxId)).toBe(0);
    });
  });
}
