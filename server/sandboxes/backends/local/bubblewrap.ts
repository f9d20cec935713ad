import { lstatSync, readlinkSync } from "node:fs";

/**
 * How the inside of a local sandbox looks, as arguments for bubblewrap. Nothing is run here: the
 * probe and the real start build from the same function, so that what was proved is what runs.
 *
 * Our own directories are bound by file descriptor: no path of the host reaches the command line,
 * which the sandbox can read in /proc/1, and nobody can exchange what a path leads to. Bubblewrap
 * still walks the path, so the uid it runs under must be able to enter every directory on it.
 */
export interface BubblewrapPlan {
  /** Whether this bubblewrap knows --disable-userns (0.8 and later). */
  disableUserns: boolean;
  /** A trial ends with whoever runs it; a real sandbox outlives a server that crashed. */
  dieWithParent: boolean;
  /** Bound in this order; `descriptor` is the number it has in bubblewrap's process. */
  mounts: readonly { descriptor: number; destination: string; writable: boolean }[];
  /** Receives `{"child-pid": n}`, the first process of the new pid namespace. */
  infoDescriptor: number;
  temporaryBytes: number;
  workingDirectory: string;
  command: readonly string[];
  /** Told apart from the host's layout only in tests. */
  root?: string;
}

export const insideUid = 1000;

export function bubblewrapArguments(plan: BubblewrapPlan): string[] {
  const size = String(plan.temporaryBytes);
  return [
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try"],
    ...(plan.disableUserns ? ["--disable-userns"] : []),
    ...["--uid", String(insideUid), "--gid", String(insideUid), "--hostname", "sandbox"],
    // Without a session of its own the sandbox could push characters into the server's terminal.
    "--new-session",
    ...(plan.dieWithParent ? ["--die-with-parent"] : []),
    ...["--info-fd", String(plan.infoDescriptor)],
    ...systemArguments(plan.root ?? "/"),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--perms", "1777", "--size", size, "--tmpfs", "/dev/shm", "--perms", "1777", "--size", size, "--tmpfs", "/tmp"],
    ...["--symlink", "/tmp", "/var/tmp"],
    ...plan.mounts.flatMap(({ descriptor, destination, writable }) => [
      writable ? "--bind-fd" : "--ro-bind-fd",
      String(descriptor),
      destination,
    ]),
    // Both are writable tmpfs of no bounded size; last, because mount points are made in them.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", plan.workingDirectory, "--", ...plan.command],
  ];
}

// A merged /usr keeps these as links; an unmerged one as directories.
const systemDirectories = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

// What git, npm, pip and TLS read. No shadow, no sudoers, no ssh keys, no machine-id.
const systemFiles = [
  "alternatives",
  "ca-certificates",
  "crypto-policies",
  "fonts",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "pki/ca-trust",
  "pki/tls/cert.pem",
  "pki/tls/certs",
  "protocols",
  "services",
  "ssl/certs",
  "ssl/openssl.cnf",
  "terminfo",
];

function systemArguments(root: string): string[] {
  const links = systemDirectories.flatMap((name) => {
    const status = lstatSync(`${root}${name}`, { throwIfNoEntry: false });
    if (status?.isSymbolicLink()) return ["--symlink", readlinkSync(`${root}${name}`), `/${name}`];
    return status ? ["--ro-bind", `/${name}`, `/${name}`] : [];
  });
  return [
    ...["--ro-bind", "/usr", "/usr"],
    ...links,
    ...systemFiles.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
  ];
}
