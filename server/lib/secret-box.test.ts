import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createSecretBox } from "./secret-box.ts";

const box = createSecretBox(randomBytes(32));

describe("a secret box", () => {
  it("opens what it sealed, and seals the same text differently each time", () => {
    const first = box.seal("sk-key ✓", "provider:1");
    expect(box.open(first, "provider:1")).toBe("sk-key ✓");
    expect(box.seal("sk-key ✓", "provider:1")).not.toBe(first);
  });

  it("does not open a value that was moved to another row", () => {
    expect(() => box.open(box.seal("sk-key", "provider:1"), "provider:2")).toThrow();
  });

  it("does not open with another key or after a change of one character", () => {
    const sealed = box.seal("sk-key", "x");
    expect(() => createSecretBox(randomBytes(32)).open(sealed, "x")).toThrow();
    const changed = sealed.slice(0, -1) + (sealed.endsWith("A") ? "B" : "A");
    expect(() => box.open(`${changed.slice(0, 10)}_${changed.slice(11)}`, "x")).toThrow();
    expect(() => box.open("v0.abc", "x")).toThrow("unknown form");
  });
});
