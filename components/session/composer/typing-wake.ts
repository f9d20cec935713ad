import type { SessionState } from "@/server/protocol/session-events.ts";

const enough = 3;

/**
 * Somebody who writes will soon send: the sandbox wakes meanwhile. Asked for once a draft, by what was typed alone; a
 * sandbox of a machine that is away cannot wake here.
 */
export function createTypingWake(wake: () => void): (typed: string, sandbox: SessionState["sandbox"] | null) => void {
  let isAsked = false;
  return (typed, sandbox) => {
    if (typed.trim().length < enough) {
      isAsked = false;
      return;
    }
    const sleeps = sandbox?.state === "sleeping" || sandbox?.state === "failed";
    if (isAsked || !sleeps || sandbox.away) return;
    isAsked = true;
    wake();
  };
}
