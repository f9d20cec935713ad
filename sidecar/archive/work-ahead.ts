/**
 * Results in the order of the source, with up to `atOnce` of them under way while the first is waited
 * for. Nothing is under way any more when it ends, however it ends.
 */
export async function* workAhead<Item, Result>(
  source: AsyncIterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underway: Promise<Result>[] = [];
  try {
    for await (const item of source) {
      const result = work(item);
      // Rejections wait for their turn below.
      result.catch(() => {});
      underway.push(result);
      if (underway.length >= atOnce) yield (await underway.shift()) as Result;
    }
    while (underway.length > 0) yield (await underway.shift()) as Result;
  } finally {
    await Promise.allSettled(underway);
  }
}
