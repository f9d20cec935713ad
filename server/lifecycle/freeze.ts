import { setTimeout as sleep } from "node:timers/promises";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";

/** Everything of the agent stands still, so that nothing is written after what was archived. */
export interface Freeze {
  /** Whether this very freeze has held all the time. */
  holds(signal: AbortSignal): Promise<boolean>;
  /** The agent goes on where it was. Best effort: a sidecar that hears nothing thaws it by itself. */
  thaw(): Promise<void>;
  /** It stays frozen, and nobody asks for more time: it is about to be ended. */
  leave(): void;
}

// The sidecar thaws what it hears nothing about for 30 s; an archive may take longer than that.
const remindMilliseconds = 8_000;
const thawMilliseconds = 10_000;

export async function freeze(sidecar: SidecarClient, signal: AbortSignal): Promise<Freeze> {
  const { freezeId } = await sidecar.quiesce(signal);
  const leaving = new AbortController();
  void remind();

  async function remind(): Promise<void> {
    while (!leaving.signal.aborted) {
      await sleep(remindMilliseconds, undefined, { signal: leaving.signal, ref: false }).catch(() => {});
      if (!leaving.signal.aborted) await sidecar.freezeHolds(freezeId, leaving.signal).catch(() => {});
    }
  }

  return {
    holds: async (asking) => (await sidecar.freezeHolds(freezeId, asking)).holds,
    async thaw() {
      leaving.abort();
      await sidecar.resume(AbortSignal.timeout(thawMilliseconds)).catch(() => {});
    },
    leave: () => leaving.abort(),
  };
}
