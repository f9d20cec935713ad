/** The events as they come, and `null` whenever none came for as long as `patience()` says at that time. */
export async function* withSilences<Event>(
  events: AsyncIterable<Event>,
  patience: () => number,
): AsyncGenerator<Event | null> {
  const iterator = events[Symbol.asyncIterator]();
  let next = iterator.next();
  let timer: NodeJS.Timeout | undefined;
  try {
    for (;;) {
      const silence = new Promise<null>((resolve) => {
        timer = setTimeout(() => resolve(null), patience());
      });
      const result = await Promise.race([next, silence]);
      clearTimeout(timer);
      if (result?.done) return;
      // What was asked for is still to come after a silence.
      if (result) next = iterator.next();
      yield result ? result.value : null;
    }
  } finally {
    clearTimeout(timer);
    // Whoever made the events ends them; waiting for it here would wait for one more.
    next.catch(() => {});
    void iterator.return?.().catch(() => {});
  }
}
