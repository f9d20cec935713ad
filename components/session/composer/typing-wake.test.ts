import { describe, expect, it, vi } from "vitest";
import type { SessionState } from "@/server/protocol/session-events.ts";
import { createTypingWake } from "./typing-wake.ts";

const sandbox = (state: SessionState["sandbox"]["state"], machine: string | null = null): SessionState["sandbox"] => ({
  state,
  cause: null,
  away: machine ? { machine, since: null } : null,
});

describe("typing", () => {
  it("wakes a sandbox that sleeps with the third character, once a draft", () => {
    const wake = vi.fn();
    const typed = createTypingWake(wake);
    typed("W", sandbox("sleeping"));
    typed("Wh", sandbox("sleeping"));
    typed("   ", sandbox("sleeping"));
    expect(wake).not.toHaveBeenCalled();
    for (const text of ["Wha", "What", "What "]) typed(text, sandbox("sleeping"));
    expect(wake).toHaveBeenCalledTimes(1);
    typed("", sandbox("running"));
    typed("And", sandbox("sleeping"));
    expect(wake).toHaveBeenCalledTimes(2);
  });

  it("wakes one that failed, and one that fell asleep while somebody thought", () => {
    const wake = vi.fn();
    const typed = createTypingWake(wake);
    typed("What is", sandbox("running"));
    expect(wake).not.toHaveBeenCalled();
    typed("What is m", sandbox("failed"));
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it("leaves alone what does not exist, starts, or can only wake elsewhere", () => {
    const wake = vi.fn();
    const typed = createTypingWake(wake);
    typed("What", null);
    typed("What ", sandbox("none"));
    typed("What i", sandbox("terminated"));
    typed("What is", sandbox("provisioning"));
    typed("What is ", sandbox("sleeping", "oak"));
    expect(wake).not.toHaveBeenCalled();
  });
});
