import { createAgentClient } from "../agent/index.ts";
import type { Lifecycle } from "../lifecycle/index.ts";
import type { ReleaseSession } from "../sessions/index.ts";
import type { Archives } from "../snapshots/index.ts";
import type { Turns } from "./index.ts";

const cleanUpMilliseconds = 10_000;

/** Before a session's rows go: its turn is stopped, and what lives of it in a sandbox that is awake here is removed, and its snapshots. */
export function releaseSession({
  turns,
  lifecycle,
  archives,
}: {
  turns: Pick<Turns, "release">;
  lifecycle: Pick<Lifecycle, "findRunning">;
  archives: Pick<Archives, "removeSnapshots">;
}): ReleaseSession {
  return async (actor, session) => {
    await turns.release(actor, session.sessionId);
    try {
      await removeLive(session);
    } finally {
      // Last: a snapshot of what still lived could be taken before.
      await archives.removeSnapshots(actor, session.sessionId);
    }
  };

  async function removeLive({ sessionId, sandboxId, agentSessionId }: Parameters<ReleaseSession>[1]): Promise<void> {
    const sandbox = sandboxId ? lifecycle.findRunning(sandboxId) : null;
    if (!sandbox) return;
    const signal = AbortSignal.any([sandbox.signal, AbortSignal.timeout(cleanUpMilliseconds)]);
    const client = createAgentClient({ sidecar: sandbox.sidecar });
    if (agentSessionId) await client.deleteSession(agentSessionId, signal);
    await sandbox.sidecar.removeWorkspace(sessionId, signal);
  }
}
