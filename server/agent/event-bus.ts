import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { type BusTimings, busTimings, readEvents, streamError } from "./event-reader.ts";
import { createSubscription, type EventSubscription, numberOf, type SubscriptionEnd } from "./event-subscription.ts";
import { createSessionTree } from "./session-tree.ts";

/**
 * One for each sandbox, at whoever holds its lease. It begins to read with its first subscription and
 * reads until it is closed, or dead: away from the sidecar for too long. A dead one is of no more use.
 */
export interface EventBus {
  /** The last number that it has passed; where a turn that begins now may start. */
  readonly passed: number;
  readonly connected: boolean;
  readonly dead: boolean;
  /**
   * Events of the root, of its subagents and of the agent's life, with numbers after `after`, which may
   * lie in the past. It counts from this call on, so call it before the prompt. `children` are
   * subagents that began before. Throws `stream-error` on a dead bus.
   */
  subscribe(input: { root: string; children?: Iterable<string>; after: number }): EventSubscription;
  /** Subscriptions end, without an error: their turns are left to the next owner. Waits for the reader. */
  close(): Promise<void>;
}

const maxQueued = 1_000;

export function createEventBus(input: {
  sidecar: SidecarClient;
  timings?: Partial<BusTimings>;
  /** After each connection to the sidecar: what waits for an answer may have been missed. */
  onConnected?: () => void;
  /** The agent was started anew, or may have been. */
  onStarted?: () => void;
  maxQueued?: number;
}): EventBus {
  const { sidecar, onConnected, onStarted } = input;
  const timings = { ...busTimings, ...input.timings };
  const closing = new AbortController();
  const subscribers = new Set<SubscriptionEnd>();
  let passed = 0;
  let connected = false;
  let reading: Promise<void> | null = null;
  let dead: { error: unknown } | null = null;

  function start(after: number): void {
    passed = after;
    reading = readEvents({
      sidecar,
      timings,
      signal: closing.signal,
      position: () => passed,
      onLost() {
        connected = false;
      },
      onEvent(event) {
        if (event.type === "hello") onConnected?.();
        connected = true;
        const number = numberOf(event);
        if (number <= passed) return undefined;
        passed = number;
        if (event.type === "gap" || (event.type === "life" && event.what === "started")) onStarted?.();
        for (const subscriber of subscribers) subscriber.offer(event);
        return undefined;
      },
    }).catch((error) => {
      if (!closing.signal.aborted) dead = { error };
      for (const subscriber of [...subscribers]) subscriber.end(dead ? error : null);
    });
  }

  return {
    get passed() {
      return passed;
    },
    get connected() {
      return connected;
    },
    get dead() {
      return dead !== null;
    },
    subscribe({ root, children = [], after }) {
      if (dead) throw dead.error;
      if (closing.signal.aborted) throw streamError();
      if (!reading) start(after);
      const tree = createSessionTree(root, children);
      const subscriber = createSubscription({
        sidecar,
        timings,
        tree,
        after,
        passed: () => passed,
        maxQueued: input.maxQueued ?? maxQueued,
        onClose: () => subscribers.delete(subscriber),
      });
      subscribers.add(subscriber);
      return subscriber.subscription;
    },
    async close() {
      closing.abort();
      for (const subscriber of [...subscribers]) subscriber.end(null);
      await reading;
    },
  };
}
