import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import { type RawName, writtenName } from "../../server/protocol/archive/raw-name.ts";
import { shownName } from "../../server/protocol/shown-name.ts";

const maxSegmentBytes = 255;
const maxNameBytes = 3_000;
export const maxDepth = 400;

/** Long before the system would refuse it. */
export function isTooLong(name: RawName): boolean {
  return name.length > maxNameBytes;
}

/** The parts of a name in an archive; throws for one that could lead anywhere but down. */
export function segmentsOf(name: RawName): RawName[] {
  if (name.startsWith("/")) throw refused(name, "its path is absolute");
  if (name.includes("\0")) throw refused(name, "its name is not valid");
  const segments = name.split("/").filter((part) => part !== "" && part !== ".");
  if (segments.includes("..")) throw refused(name, "its path points outside with “..”");
  const tooLong = isTooLong(name) || segments.some((part) => part.length > maxSegmentBytes);
  if (tooLong || segments.length > maxDepth) throw refused(name, "its name is too long");
  return segments;
}

/** Whether it is one part of a name, by itself; as far as `segmentsOf` would let it pass unchanged. */
export function isSegment(part: string): boolean {
  return part !== "" && part !== "." && part !== ".." && part.length <= maxSegmentBytes && !/[\0/]/.test(part);
}

export function refused(name: RawName, reason: string): ArchiveRefusal {
  const shown = shownName(writtenName(name.slice(0, 200)));
  return new ArchiveRefusal("invalid-input", `The archive was refused for "${shown}": ${reason}.`);
}
