import { expect, test } from "vitest";
import type { RecoveryPoint } from "@/server/protocol/session-events.ts";
import { toRecoveryWords } from "./recovery-words.ts";

const savedAt = "2026-11-17T10:00:00.000Z";
const nothing: RecoveryPoint = { savedAt: null, saving: false, problem: null, restoring: false };

test("files are said to be saved as of the newest snapshot, or not yet", () => {
  expect(toRecoveryWords(nothing, "running")).toMatchObject({ look: "unsaved", short: "Not saved yet", at: null });
  expect(toRecoveryWords({ ...nothing, savedAt }, "sleeping")).toMatchObject({
    look: "saved",
    lead: "Saved",
    at: savedAt,
  });
});

test("a failure outweighs what was saved before, until the next attempt", () => {
  const failed = { ...nothing, savedAt, problem: "The workspace has too much." };
  expect(toRecoveryWords(failed, "running")).toMatchObject({
    look: "failed",
    short: "Not saved",
    cause: "The workspace has too much.",
    at: null,
  });
  expect(toRecoveryWords({ ...failed, restoring: true }, "sleeping").look).toBe("failed");
  expect(toRecoveryWords({ ...failed, saving: true }, "running")).toMatchObject({ look: "saving", cause: null });
});

test("a restore is under way while the sandbox is awake, and waits for it else", () => {
  const restoring = { ...nothing, savedAt, restoring: true };
  expect(toRecoveryWords(restoring, "running").short).toBe("Restoring …");
  expect(toRecoveryWords(restoring, "sleeping").short).toBe("Restores on wake");
});
