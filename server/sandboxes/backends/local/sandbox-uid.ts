import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

// Free by systemd's table of uids: no system user, no subuid range, no dynamic user.
const wide = { first: 1_879_048_192, count: 268_000_000 };
// For a container whose user namespace maps only the first 65,536.
const narrow = { first: 60_600, count: 500 };

/**
 * The host's uid (and gid) under which a sandbox runs when the server is root; null when the
 * server is an ordinary user, whose own uid is then used. A function of the id, so that files
 * keep their owner over every restart; two sandboxes that fall together lose a second wall, the
 * namespaces being the first.
 */
export function sandboxUid(sandboxId: string, uidMap = readUidMap()): number | null {
  if (process.getuid?.() !== 0) return null;
  const range = covers(uidMap, wide) ? wide : narrow;
  const hash = createHash("sha256").update(sandboxId).digest().readUInt32BE(0);
  return range.first + (hash % range.count);
}

function readUidMap(): string {
  try {
    return readFileSync("/proc/self/uid_map", "utf8");
  } catch {
    return "";
  }
}

function covers(uidMap: string, range: { first: number; count: number }): boolean {
  return uidMap.split("\n").some((line) => {
    const [inside, , length] = line.trim().split(/\s+/).map(Number);
    if (inside === undefined || length === undefined) return false;
    return inside <= range.first && inside + length >= range.first + range.count;
  });
}
