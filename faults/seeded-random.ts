/** Decisions that a seed repeats. */
export interface SeededRandom {
  /** Both ends included. */
  integer(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly [Item, ...Item[]]): Item;
  shuffle<Item>(items: readonly Item[]): Item[];
  /** With decisions of its own: how many it makes changes nothing for the others. */
  fork(): SeededRandom;
}

export function createSeededRandom(seed: number): SeededRandom {
  let state = (seed * 0x9e3779b1) >>> 0;
  // mulberry32: small, and good enough for choosing where to break something.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    integer,
    chance: (probability) => next() < probability,
    pick: (items) => items[integer(0, items.length - 1)] ?? items[0],
    shuffle: (items) =>
      items
        .map((item) => ({ item, place: next() }))
        .sort((one, other) => one.place - other.place)
        .map(({ item }) => item),
    fork: () => createSeededRandom(integer(1, 2 ** 31)),
  };
}
