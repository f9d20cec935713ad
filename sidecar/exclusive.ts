import { Problem } from "./sidecar-problem.ts";

/** Things that must not happen to one directory at the same time: the later one is refused, not queued. */
export interface Exclusive {
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
}

export function createExclusive(): Exclusive {
  const underway = new Set<string>();
  return {
    async run(key, work) {
      if (underway.has(key)) throw new Problem("conflict", `${key} is being archived, restored or changed.`);
      underway.add(key);
      try {
        return await work();
      } finally {
        underway.delete(key);
      }
    },
  };
}
