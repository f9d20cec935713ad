import type { DemoSteps } from "../gateway/demo-model/create-demo-model.ts";

/** The demo model in the hands of a test: what has to happen in the middle of an answer is not in a hurry then. */
export interface TestWords extends DemoSteps {
  /** Every answer, also one that is being given, stops after so many words until more are allowed. */
  allow(words: number): void;
  allowAll(): void;
}

export function createTestWords(): TestWords {
  let allowed = Number.POSITIVE_INFINITY;
  let changed = Promise.withResolvers<void>();
  const allow = (words: number) => {
    allowed = words;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    allow,
    allowAll: () => allow(Number.POSITIVE_INFINITY),
    async afterWord(word, signal) {
      const gone = Promise.withResolvers<never>();
      gone.promise.catch(() => {});
      const leave = () => gone.reject(signal.reason);
      signal.addEventListener("abort", leave, { once: true });
      try {
        signal.throwIfAborted();
        while (word + 1 >= allowed) await Promise.race([changed.promise, gone.promise]);
      } finally {
        signal.removeEventListener("abort", leave);
      }
    },
  };
}
