import { describe, expect, it } from "vitest";
import type { SandboxId, TenantId } from "../protocol/ids.ts";
import { findStoreKey, sandboxKey, storeKey } from "./store-key.ts";

const tenantId = "0196f0a2-5b1c-7c3e-9a51-2f6f1c0d4e10" as TenantId;
const sandboxId = "0196f0a2-5b1c-7c3e-9a51-2f6f1c0d4e11" as SandboxId;

describe("a key of the file store", () => {
  it("is made of plain segments", () => {
    expect(storeKey("library", "2026", "report-1_a.tar.gz")).toBe("library/2026/report-1_a.tar.gz");
    expect(storeKey("library/2026")).toBe("library/2026");
    expect(findStoreKey("a".repeat(200))).not.toBeNull();
  });

  it.each([
    "",
    "/",
    "/etc/passwd",
    "..",
    "a/../b",
    "a/..",
    "a..b",
    "./a",
    "a/./b",
    "a//b",
    "a/",
    ".tmp/x",
    "a/.hidden",
    "-rf",
    "a\\b",
    "a\0b",
    "a\nb",
    "a b",
    "a%2fb",
    "a?b",
    "Upper",
    "ä",
    "a.",
    "c:/x",
    "a".repeat(201),
    Array(500).fill("ab").join("/"),
  ])("is not %j", (hostile) => {
    expect(findStoreKey(hostile)).toBeNull();
    expect(() => storeKey(hostile)).toThrow(expect.objectContaining({ kind: "invalid-input" }));
  });

  it("puts all of a sandbox under its tenant and itself", () => {
    expect(sandboxKey({ tenantId, sandboxId }, "opencode-history.tar.gz")).toBe(
      `sandbox-snapshots/${tenantId}/${sandboxId}/opencode-history.tar.gz`,
    );
  });

  it("takes no other sandbox's folder for a name", () => {
    const hostile = "x/../../other" as SandboxId;
    expect(() => sandboxKey({ tenantId, sandboxId: hostile }, "a")).toThrow();
    expect(() => sandboxKey({ tenantId: "" as TenantId, sandboxId }, "a")).toThrow();
    expect(() => sandboxKey({ tenantId, sandboxId }, "..", "a")).toThrow();
  });
});
