import { spawnSync } from "node:child_process";

/** Somebody of this machine other than the one we are. */
export interface SystemUser {
  uid: number;
  gid: number;
}

/** Tried, not computed: only the kernel knows about access lists, mounts and containers. Null stands for ourselves. */
export function canReach(path: string, user: SystemUser | null, access: "-x" | "-w" = "-x"): boolean {
  const identity = user ? { uid: user.uid, gid: user.gid } : {};
  return spawnSync("test", [access, path], { ...identity, timeout: 10_000 }).status === 0;
}
