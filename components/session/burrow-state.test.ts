import { describe, expect, it } from "vitest";
import type { LogEntry } from "@/server/protocol/log-entry.ts";
import type { SessionState } from "@/server/protocol/session-events.ts";
import { toBurrow, toMemoryWords } from "./burrow-state.ts";

const session: SessionState = {
  id: "s",
  title: "",
  runningTurnId: null,
  stopRequested: false,
  queue: [],
  queueRest: [],
  sandbox: { state: "running", cause: null, away: null },
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

  it("says that the agent's memory is being restored", () => {
    const restoring = toBurrow({ ...session, runningTurnId: "t" }, [
      phase(1, "starting-sandbox"),
      phase(2, "restoring"),
    ]);
    expect(restoring).toEqual({ line: { waking: 0.5 }, words: "Restoring the agent's memory", isAsleep: false });
  });

  it("says that files are being restored, until they are there", () => {
    const running = { ...session, runningTurnId: "t" };
    const waiting = toBurrow(running, [phase(1, "running"), phase(2, "restoring-files")]);
    expect(waiting).toEqual({ line: { waking: 0.85 }, words: "Restoring your files", isAsleep: false });
    expect(toBurrow(running, [phase(2, "restoring-files"), phase(3, "files-ready")]).words).toBe("Working");
  });

  it("says that the agent waits for an answer, until there is one or a stop", () => {
    const running = { ...session, runningTurnId: "t" };
    const ask = (state: string, turnId = "t") =>
      ({ ...base, turnId, number: 4, open: true, kind: "ask", body: { askId: "a", state } }) as unknown as LogEntry;
    expect(toBurrow(running, [ask("pending")])).toMatchObject({ line: "awake", words: "Waiting for your answer" });
    expect(toBurrow(running, [ask("answered")])).toMatchObject({ line: "working", words: "Working" });
    expect(toBurrow(running, [ask("pending", "earlier")]).words).toBe("Working");
    expect(toBurrow({ ...running, stopRequested: true }, [ask("pending")]).words).toBe("Stopping");
  });

  it("says that it waits while a message cannot be handed to the agent", () => {
    const running = { ...session, runningTurnId: "t" };
    const waiting = [phase(1, "starting-sandbox"), phase(2, "waiting")];
    expect(toBurrow(running, waiting)).toMatchObject({ line: "failed", words: "Waiting to try again" });
    expect(toBurrow({ ...running, stopRequested: true }, waiting).words).toBe("Stopping");
  });

  it("breathes asleep, and says why a sandbox failed", () => {
    expect(toBurrow({ ...session, sandbox: { state: "sleeping", cause: null, away: null } }, []).isAsleep).toBe(true);
    const failed = toBurrow({ ...session, sandbox: { state: "failed", cause: "No space left", away: null } }, []);
    expect(failed).toMatchObject({ line: "failed", words: "No space left" });
  });

  it("promises nothing before there is a sandbox", () => {
    expect(toBurrow(null, [])).toMatchObject({ line: "absent" });
  });
});

describe("the words for the agent's memory", () => {
  const words = (status: SessionState["memory"]["status"], cause: string | null) =>
    toMemoryWords({ ...session, memory: { status, cause, at: null } });

  it("do not say of a session that has just begun that something was lost", () => {
    expect(words("fresh", null)).toBe("Memory starts here");
    expect(words("fresh", "The agent no longer knew this session.")).toBe("Memory lost");
  });

  it("name every other status", () => {
    const said = (["intact", "restored", "replayed", "partial"] as const).map((status) => words(status, null));
    expect(said).toEqual([
      "Memory intact",
      "Memory restored",
      "Memory rebuilt from the transcript",
      "Memory incomplete",
    ]);
  });
});
