import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import { type RawName, shownName } from "../../server/protocol/archive/raw-name.ts";

const mostSegmentBytes = 255;
const mostNameBytes = 3_000;
const mostDepth = 400;

/** The parts of a name in an archive; throws for one that could lead anywhere but down. */
export function segmentsOf(name: RawName): RawName[] {
  if (name.startsWith("/")) throw refused(name, "its path is absolute");
  if (name.includes("\0")) throw refused(name, "its name is not one");
  const segments = name.split("/").filter((part) => part !== "" && part !== ".");
  if (segments.includes("..")) throw refused(name, "its path leads out with “..”");
  const tooLong = name.length > mostNameBytes || segments.some((part) => part.length > mostSegmentBytes);
  if (tooLong || segments.length > mostDepth) throw refused(name, "its name is too long");
  return segments;
}

export function refused(name: RawName, reason: string): ArchiveRefusal {
  const shown = shownName(name.slice(0, 200)).replaceAll(/\p{Cc}/gu, "�");
  return new ArchiveRefusal("invalid-input", `The archive was refused for ${JSON.stringify(shown)}: ${reason}.`);
}
