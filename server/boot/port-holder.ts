import { readdir, readFile, readlink } from "node:fs/promises";

/** Who listens on a port, as far as Linux tells us; null when it does not. */
export async function findPortHolder(port: number): Promise<{ pid: number; name: string } | null> {
  const inodes = await listeningInodes(port);
  if (inodes.size === 0) return null;
  for (const entry of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue;
    if (!(await holdsSocket(entry, inodes))) continue;
    const name = await readFile(`/proc/${entry}/comm`, "utf8").catch(() => "another program");
    return { pid: Number(entry), name: name.trim() };
  }
  return null;
}

async function listeningInodes(port: number): Promise<Set<string>> {
  const listening = "0A";
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  const inodes = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const text = await readFile(table, "utf8").catch(() => "");
    for (const line of text.split("\n").slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === listening && local?.endsWith(`:${wanted}`) && inode) inodes.add(inode);
    }
  }
  return inodes;
}

// Other users' processes cannot be looked into: they count as not found.
async function holdsSocket(pid: string, inodes: Set<string>): Promise<boolean> {
  for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
    const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode && inodes.has(inode)) return true;
  }
  return false;
}
