import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";

export interface ListenHandlers {
  onNotify(channel: string, payload: string): void;
  /** What was sent before this, or while the connection was lost, was not heard. */
  onReady(): void;
}

export interface Listener {
  close(): Promise<void>;
}

const checkEveryMilliseconds = 15_000;
const longestPause = 5_000;

/**
 * The driver's own `listen` tries once after a loss and then stays silent for good. This one opens a
 * connection after another until it is closed, and asks each whether it still lives: a peer that
 * vanished without a word looks like one that has nothing to say.
 */
export function openListener(options: {
  url: string;
  channels: readonly string[];
  handlers: ListenHandlers;
  /** A connection that was open is lost; it will be opened again. */
  onLost(): void;
}): Listener {
  const stopping = new AbortController();
  const running = listenUntil(stopping.signal, options);
  return {
    async close() {
      stopping.abort();
      await running;
    },
  };
}

async function listenUntil(signal: AbortSignal, options: Parameters<typeof openListener>[0]): Promise<void> {
  let pause = 50;
  while (!signal.aborted) {
    const opened = await listenOnce(signal, options);
    if (opened && !signal.aborted) options.onLost();
    pause = opened ? 50 : Math.min(pause * 2, longestPause);
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
}

/** Resolves when the connection is lost: true when it had been open. */
async function listenOnce(
  signal: AbortSignal,
  { url, channels, handlers }: Parameters<typeof openListener>[0],
): Promise<boolean> {
  const lost = new AbortController();
  const connection = {
    max: 1,
    connect_timeout: 5,
    idle_timeout: 0,
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => {},
    onclose: () => lost.abort(),
    // Known to the driver, though not to its types.
    onnotify: handlers.onNotify,
    connection: { application_name: "dormouse-listen" },
  };
  const client = postgres(url, connection);
  const either = AbortSignal.any([signal, lost.signal]);
  let opened = false;
  try {
    for (const channel of channels) await within(client.unsafe(`listen "${channel}"`));
    opened = true;
    handlers.onReady();
    while (!either.aborted) {
      await sleep(checkEveryMilliseconds, undefined, { signal: either });
      await within(client.unsafe("select 1"));
    }
  } catch {
    // Lost, or told to end: either way the next line ends it, and the caller decides.
  } finally {
    await client.end({ timeout: 0 }).catch(() => {});
  }
  return opened;
}

async function within<Value>(query: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("The database did not answer in time.")), 5_000);
  });
  return await Promise.race([query, late]).finally(() => clearTimeout(timer));
}
