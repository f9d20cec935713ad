import { archiveNote } from "../protocol/archive/archive-answers.ts";
import type { ArchiveRow } from "./archive-rows.ts";

const remembered = archiveNote.pick({ remembered: true });

/**
 * Those archives that are younger than a disk with content, newest first: it was set back, or is another one
 * than they were made of. Given are verified ones, newest first. Every archive is remembered by its disk before
 * it can count, so a disk that does not know the newest is older. Where the newest says that it is not remembered,
 * nothing is concluded.
 */
export function findMissed(known: readonly string[], newestFirst: readonly ArchiveRow[]): ArchiveRow[] {
  const [newest] = newestFirst;
  if (!newest || !remembered.safeParse(newest.manifest).data?.remembered) return [];
  const last = newestFirst.findIndex(({ id }) => known.includes(id));
  return last === -1 ? [...newestFirst] : newestFirst.slice(0, last);
}
