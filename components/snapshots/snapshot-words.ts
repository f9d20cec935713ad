import { fileSize } from "@/server/protocol/file-size.ts";
import { shownName } from "@/server/protocol/shown-name.ts";
import type { Snapshot, SnapshotFiles } from "@/server/protocol/snapshots.ts";

/** What there is to know of a snapshot in one line, with the number of its files once it was looked into. */
export function toSnapshotWords({ bytes, restoreRequested }: Snapshot, files: SnapshotFiles | null = null): string {
  const parts = [
    bytes === null ? null : fileSize(bytes),
    files && countFiles(files),
    restoreRequested ? "restores on wake" : null,
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

function countFiles({ entries, truncated }: SnapshotFiles): string {
  const count = entries.filter(({ kind }) => kind === "file").length;
  if (truncated) return `more than ${count} files`;
  return `${count} ${count === 1 ? "file" : "files"}`;
}

type LeftOut = Pick<SnapshotFiles, "leftOut" | "leftOutCount">;

/** Null when everything is in it. What was not named in the manifest counts as the rest. */
export function toLeftOutWords({ leftOut, leftOutCount }: LeftOut): string | null {
  const again = leftOut.filter(({ reason }) => reason === "regenerable");
  const lost = leftOut.filter(({ reason }) => reason !== "regenerable");
  const unnamed = leftOutCount - leftOut.length;
  const sentences = [
    again.length > 0 &&
      `${named(again, unnamed)} left out; ${again.length + unnamed === 1 ? "it" : "they"} can be regenerated.`,
    lost.length > 0 && `${named(lost, again.length > 0 ? 0 : unnamed)} not saved.`,
  ];
  return sentences.filter(Boolean).join(" ") || null;
}

const reasons: Record<SnapshotFiles["leftOut"][number]["reason"], string> = {
  regenerable: "can be regenerated",
  "managed-link": "comes with the sandbox",
  "link-leads-out": "a link that points outside the session’s files",
  "special-file": "not a regular file",
  unreadable: "could not be read",
  vanished: "disappeared while saving",
};

export function toReasonWords({ reason }: SnapshotFiles["leftOut"][number]): string {
  return reasons[reason];
}

/** `node_modules is`, `node_modules and dist are`, `node_modules and 2 more are`. */
function named([first, second, ...others]: SnapshotFiles["leftOut"], unnamed: number): string {
  const more = others.length + unnamed;
  const name = first && shownName(first.path);
  if (!second && more === 0) return `${name} is`;
  if (second && more === 0) return `${name} and ${shownName(second.path)} are`;
  return `${name} and ${more + (second ? 1 : 0)} more are`;
}
