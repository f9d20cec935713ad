export interface Bounds {
  signal: AbortSignal;
  milliseconds: number;
  /** What a late one fails with. */
  late(): Error;
}

/**
 * Waits for work no longer than its time and its signal allow, and tells the work to stop by the signal it is
 * handed. Work that cannot stop goes on unheard: whoever opens something in it closes it in there.
 */
export async function bounded<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { signal, milliseconds, late }: Bounds,
): Promise<Result> {
  signal.throwIfAborted();
  const stopping = new AbortController();
  let clear = () => {};
  const stopped = new Promise<never>((_, reject) => {
    const stop = (reason: unknown) => {
      reject(reason);
      stopping.abort(reason);
    };
    const onAbort = () => stop(signal.reason);
    const timer = setTimeout(() => stop(late()), milliseconds);
    signal.addEventListener("abort", onAbort, { once: true });
    clear = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
  });
  try {
    return await Promise.race([work(stopping.signal), stopped]);
  } finally {
    clear();
  }
}
