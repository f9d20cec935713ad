import { describe, expect, it } from "vitest";
import { sandboxUid } from "./sandbox-uid.ts";

const whole = "         0          0 4294967295\n";
const container = "         0     100000      65536\n";

describe.runIf(process.getuid?.() === 0)("the uid of a sandbox under root", () => {
  it("is never root, stays the same for one id and differs between ids", () => {
    const uids = Array.from({ length: 100 }, (_, index) => sandboxUid(`sandbox-${index}`, whole));
    expect(new Set(uids).size).toBe(100);
    for (const uid of uids) expect(uid).toBeGreaterThanOrEqual(1_879_048_192);
    expect(sandboxUid("sandbox-7", whole)).toBe(uids[7]);
  });

  it.each([container, ""])("stays among the uids that a container has", (uidMap) => {
    for (let index = 0; index < 100; index += 1) {
      const uid = sandboxUid(`sandbox-${index}`, uidMap);
      expect(uid).toBeGreaterThanOrEqual(60_600);
      expect(uid).toBeLessThan(61_100);
    }
  });
});

describe.runIf(process.getuid?.() !== 0)("the uid of a sandbox under an ordinary user", () => {
  it("is the user's own", () => {
    expect(sandboxUid("sandbox", whole)).toBeNull();
  });
});
