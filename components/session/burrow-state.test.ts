import { describe, expect, it } from "vitest";
import type { LogEntry } from "@/server/protocol/log-entry.ts";
import type { SessionState } from "@/server/protocol/session-events.ts";
import { toBurrow } from "./burrow-state.ts";

const session: SessionState = {
  id: "s",
  title: "",
  runningTurnId: null,
  stopRequested: false,
  queue: [],
  sandbox: { state: "running", cause: null },
  memory: { status: "intact", cause: null, at: null },
  recovery: { savedAt: null, saving: false, problem: null, restoring: false },
};
const base = { version: 1, turnId: "t", open: false, under: null, at: "2026-01-01T00:00:00Z" };
const phase = (number: number, name: string) =>
  ({ ...base, number, kind: "sandbox-phase", body: { phase: name, message: "" } }) as LogEntry;

describe("the burrow line", () => {
  it("is steady when awake and flows while a turn runs", () => {
    expect(toBurrow(session, []).line).toBe("awake");
    expect(toBurrow({ ...session, runningTurnId: "t" }, []).line).toBe("working");
  });

  it("fills with each phase of a wake, and flows once the agent answers", () => {
    const running = { ...session, runningTurnId: "t" };
    expect(toBurrow(running, [phase(1, "starting-sandbox")]).line).toEqual({ waking: 0.3 });
    expect(toBurrow(running, [phase(1, "starting-sandbox"), phase(2, "starting-agent")]).line).toEqual({ waking: 0.7 });
    const answer = { ...base, number: 3, kind: "agent_message", body: { text: "Hi" } } as LogEntry;
    expect(toBurrow(running, [phase(1, "starting-agent"), answer]).line).toBe("working");
  });

  it("breathes asleep, and says why a sandbox failed", () => {
    expect(toBurrow({ ...session, sandbox: { state: "sleeping", cause: null } }, []).isAsleep).toBe(true);
    const failed = toBurrow({ ...session, sandbox: { state: "failed", cause: "No space left" } }, []);
    expect(failed).toMatchObject({ line: "failed", words: "No space left" });
  });

  it("promises nothing before there is a sandbox", () => {
    expect(toBurrow(null, [])).toMatchObject({ line: "absent" });
  });
});
