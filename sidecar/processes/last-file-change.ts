import { isRegenerable } from "../archive/regenerable.ts";
import { createTimeSlices } from "../archive/time-slices.ts";
import { type TreeEntry, walkTree } from "../archive/walk-tree.ts";

/** The last change in the sessions' workspaces, without git's own files and what tools make again. */
export interface LastFileChange {
  /** Looks until `deadline`, by `performance.now()`, and goes on there the next time. Null when there is nothing. */
  look(deadline: number): Promise<string | null>;
}

export function createLastFileChange(sessions: string): LastFileChange {
  let walk: Generator<TreeEntry> | null = null;
  let newest = 0;
  return {
    async look(deadline) {
      const slices = createTimeSlices();
      walk ??= walkTree({
        root: sessions,
        leaveOut: ({ name, path }) => (isLeftOut(name, path) ? "regenerable" : null),
      });
      while (performance.now() < deadline) {
        const { done, value } = walk.next();
        if (done) {
          walk = null;
          break;
        }
        const changedAt = Math.floor(value.status.mtimeMs);
        // A time to come is none that a change was made at.
        if (changedAt > newest && changedAt <= Date.now()) newest = changedAt;
        const pause = slices.turn();
        if (pause) await pause;
      }
      return newest === 0 ? null : new Date(newest).toISOString();
    },
  };
}

function isLeftOut(name: string, path: Parameters<typeof isRegenerable>[1]): boolean {
  return name.endsWith("/.git") || isRegenerable(name, path);
}
