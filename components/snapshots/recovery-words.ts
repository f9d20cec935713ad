import type { RecoveryPoint, SessionState } from "@/server/protocol/session-events.ts";

export type RecoveryLook = "saving" | "failed" | "restoring" | "saved" | "unsaved";

/** What the session page says of its recovery point. `short` stands alone where there is little room. */
export interface RecoveryWords {
  look: RecoveryLook;
  /** Left out on narrow screens. */
  lead: string | null;
  short: string;
  /** Follows the words: when, and why. */
  at: string | null;
  cause: string | null;
}

export function toRecoveryWords(
  { savedAt, saving, problem, restoring }: RecoveryPoint,
  sandbox: SessionState["sandbox"]["state"],
): RecoveryWords {
  const plain = { lead: null, at: null, cause: null };
  if (saving) return { ...plain, look: "saving", short: "Saving …" };
  if (problem) return { ...plain, look: "failed", short: "Not saved", cause: problem };
  if (restoring) {
    return { ...plain, look: "restoring", short: sandbox === "running" ? "Restoring …" : "Restores on wake" };
  }
  if (savedAt) return { ...plain, look: "saved", lead: "Saved", short: "", at: savedAt };
  return { ...plain, look: "unsaved", short: "Not saved yet" };
}
