import { readlinkSync } from "node:fs";
import { nameBytes, type RawName, rawName, rawNameOf } from "../../server/protocol/archive/raw-name.ts";

const maxHops = 40;

/**
 * Where a link of the tree leads, as a target relative to the link; null when that is outside, by
 * whatever detour over other links. What does not exist is inside when its name is.
 */
export function findInsideTarget(input: {
  root: string;
  name: RawName;
  target: RawName;
  mayBeAbsolute: boolean;
}): RawName | null {
  const { root, name, mayBeAbsolute } = input;
  const directory = name.split("/").slice(0, -1);
  let target = input.target;
  if (target.startsWith("/")) {
    const base = `${rawNameOf(root)}/`;
    if (!mayBeAbsolute || !`${target}/`.startsWith(base)) return null;
    target = "../".repeat(directory.length) + target.slice(base.length) || ".";
  }
  if (target === "" || target.includes("\0")) return null;
  return staysInside(root, directory, target) ? target : null;
}

/** Follows the target as the kernel would, but for leaving the root. */
function staysInside(root: string, from: readonly RawName[], target: RawName): boolean {
  const at = [...from];
  const ahead = target.split("/").reverse();
  let hops = 0;
  for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (at.pop() === undefined) return false;
      continue;
    }
    const next = findTarget(root, [...at, part].join("/"));
    if (next === null) {
      at.push(part);
      continue;
    }
    hops += 1;
    // A circle leads nowhere, so not out either.
    if (hops > maxHops) return true;
    if (next.startsWith("/")) {
      const base = `${rawNameOf(root)}/`;
      if (!`${next}/`.startsWith(base)) return false;
      at.length = 0;
      ahead.push(...next.slice(base.length).split("/").reverse());
    } else {
      ahead.push(...next.split("/").reverse());
    }
  }
  return true;
}

/** Null where there is no link. */
function findTarget(root: string, name: RawName): RawName | null {
  try {
    return rawName(readlinkSync(Buffer.concat([Buffer.from(`${root}/`), nameBytes(name)]), { encoding: "buffer" }));
  } catch {
    return null;
  }
}
