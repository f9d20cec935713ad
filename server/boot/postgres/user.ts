import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import type { SystemUser } from "../../lib/can-reach.ts";
import { BootError } from "../boot-error.ts";

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Null means the user we are. Postgres refuses to run as root. Data that already belongs to somebody stays theirs: a person may start with and without sudo in turn. */
export function choosePostgresUser(existingData: string | null): SystemUser | null {
  if (!isRoot()) return null;
  if (existingData) {
    const { uid, gid } = statSync(existingData);
    if (uid !== 0) return { uid, gid };
  }
  return findPostgresUser() ?? makePostgresUser();
}

function findPostgresUser(): SystemUser | null {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : null;
}

function makePostgresUser(): SystemUser {
  const parameters = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "postgres"];
  const { status, stderr } = spawnSync("useradd", parameters, { encoding: "utf8", timeout: 30_000 });
  const made = findPostgresUser();
  if (made) return made;
  throw new BootError(
    `Postgres refuses to run as root, and the system user "postgres" could not be made (useradd ended with ${status}${stderr ? `: ${stderr.trim()}` : ""}).
Make that user, start Dormouse as another user than root, or set DATABASE_URL to a Postgres of your own.`,
  );
}
