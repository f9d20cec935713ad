import { describe, expect, it } from "vitest";
import { sandboxStates } from "../protocol/sandbox.ts";
import { mayBecome } from "./sandbox-state.ts";

describe("the states of a sandbox", () => {
  it("all have a way back to a new start, and none leads to itself", () => {
    for (const state of sandboxStates) {
      expect(mayBecome(state, state)).toBe(false);
      if (state !== "provisioning") expect(mayBecome(state, "provisioning")).toBe(true);
    }
  });

  it("never run without having been started", () => {
    for (const state of ["sleeping", "failed", "terminated"] as const) expect(mayBecome(state, "running")).toBe(false);
    expect(mayBecome("provisioning", "running")).toBe(true);
  });

  it("never sleep from the dead, whose files are gone", () => {
    expect(mayBecome("terminated", "sleeping")).toBe(false);
  });
});
