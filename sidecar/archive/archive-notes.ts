import type { ArchiveManifest, LeftOutReason } from "../../server/protocol/archive/archive-answers.ts";
import { isUtf8Name, nameBytes, type RawName, writtenName } from "../../server/protocol/archive/raw-name.ts";

const maxListed = 1_000;

/** Gathers what a manifest says. */
export interface ArchiveNotes {
  leftOut(name: RawName, reason: LeftOutReason): void;
  changed(name: RawName, how: "changed" | "grew" | "shrank"): void;
  packed(bytes: number): void;
  manifest(): ArchiveManifest;
}

export function createArchiveNotes(): ArchiveNotes {
  const manifest: ArchiveManifest = {
    version: 1,
    createdAt: Date.now(),
    entries: 0,
    bytes: 0,
    leftOut: [],
    leftOutCount: 0,
    changed: [],
    changedCount: 0,
  };
  return {
    leftOut(name, reason) {
      manifest.leftOutCount += 1;
      if (manifest.leftOut.length < maxListed) manifest.leftOut.push({ ...noted(name), reason });
    },
    changed(name, how) {
      manifest.changedCount += 1;
      if (manifest.changed.length < maxListed) manifest.changed.push({ ...noted(name), how });
    },
    packed(bytes) {
      manifest.entries += 1;
      manifest.bytes += bytes;
    },
    manifest: () => manifest,
  };
}

function noted(name: RawName): { path: string; bytes?: string } {
  const path = writtenName(name);
  return isUtf8Name(name) ? { path } : { path, bytes: nameBytes(name).toString("base64") };
}
