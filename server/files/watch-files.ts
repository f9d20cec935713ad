import { setTimeout as sleep } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import type { RunningSandbox } from "../lifecycle/index.ts";
import { filesChanged } from "../protocol/sidecar.ts";
import type { LogHub } from "../sessions/index.ts";

/**
 * Tells viewers of this process that files changed. A session is watched while somebody follows it,
 * its sandbox is known and runs here; what happens while the watch is away is told as `all` after it.
 */
export interface FileWatches {
  /** Where a session's files are: known to whoever asked for them. */
  learn(sessionId: string, sandboxId: string): void;
  close(): void;
}

const pauseMilliseconds = 2_000;
const maxKnown = 10_000;

export function createFileWatches(options: {
  hub: LogHub;
  findRunning: (sandboxId: string) => RunningSandbox | null;
}): FileWatches {
  const { hub, findRunning } = options;
  const sandboxes = new Map<string, string>();
  const watches = new Map<string, AbortController>();
  const closing = new AbortController();

  function begin(sessionId: string): void {
    const sandboxId = sandboxes.get(sessionId);
    if (!sandboxId || watches.has(sessionId) || closing.signal.aborted || !hub.isFollowed(sessionId)) return;
    const ending = new AbortController();
    watches.set(sessionId, ending);
    const signal = AbortSignal.any([ending.signal, closing.signal]);
    void watch({ sessionId, sandboxId, signal }).finally(() => {
      if (watches.get(sessionId) === ending) watches.delete(sessionId);
    });
  }

  async function watch(input: { sessionId: string; sandboxId: string; signal: AbortSignal }): Promise<void> {
    const { sessionId, sandboxId, signal } = input;
    const tell = (data: { paths: string[]; all: boolean }) =>
      hub.tell(sessionId, (viewer) => viewer.onEvent({ event: "files", data }));
    let missed = false;
    while (!signal.aborted) {
      const sandbox = findRunning(sandboxId);
      if (sandbox) {
        if (missed) tell({ paths: [], all: true });
        await watchOnce({ sessionId, sandbox, signal, tell }).catch(() => {});
        missed = true;
      }
      await sleep(pauseMilliseconds, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  hub.onFollowed((sessionId, followed) => {
    if (followed) begin(sessionId);
    else watches.get(sessionId)?.abort();
  });
  return {
    learn(sessionId, sandboxId) {
      if (sandboxes.size >= maxKnown) sandboxes.clear();
      sandboxes.set(sessionId, sandboxId);
      begin(sessionId);
    },
    close: () => closing.abort(),
  };
}

async function watchOnce(input: {
  sessionId: string;
  sandbox: RunningSandbox;
  signal: AbortSignal;
  tell: (data: { paths: string[]; all: boolean }) => void;
}): Promise<void> {
  const { sessionId, sandbox, tell } = input;
  const root = `sessions/${sessionId}`;
  const signal = AbortSignal.any([input.signal, sandbox.signal]);
  const path = `/files/watch?path=${encodeURIComponent(root)}`;
  const answer = await sandbox.sidecar.send({ method: "GET", path, signal });
  const parser = createParser({
    onEvent({ data }) {
      const changed = filesChanged.safeParse(JSON.parse(data));
      if (!changed.success) return;
      const paths = changed.data.paths.map((name) =>
        name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name,
      );
      tell({ paths, all: changed.data.all });
    },
  });
  try {
    if (answer.status !== 200) return;
    answer.body.setEncoding("utf8");
    for await (const chunk of answer.body) parser.feed(chunk);
  } finally {
    answer.body.destroy();
  }
}
