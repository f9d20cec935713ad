import { existsSync, readFileSync } from "node:fs";

/** The likeliest cause that this kernel or container forbids user namespaces, and the way out. */
export function isolationHint(read: (path: string) => string | null = readSetting): string {
  if (read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1") {
    return (
      "AppArmor forbids user namespaces to ordinary programs here (the default since Ubuntu 24.04). " +
      "Allow it for bubblewrap with a profile in /etc/apparmor.d (`profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`), reload AppArmor and start again."
    );
  }
  if (read("/proc/sys/kernel/unprivileged_userns_clone") === "0") {
    return "This kernel forbids user namespaces. Allow them with `sysctl kernel.unprivileged_userns_clone=1` and start again.";
  }
  if (read("/proc/sys/user/max_user_namespaces") === "0") {
    return "This kernel forbids user namespaces. Allow them with `sysctl user.max_user_namespaces=10000` and start again.";
  }
  if (read("/.dockerenv") !== null || read("/run/.containerenv") !== null) {
    return "Containers usually forbid user namespaces: run Dormouse outside the container, or allow the container to create them.";
  }
  return "Try `bwrap --unshare-all --ro-bind / / true` in a terminal to see the cause, and start again once it works.";
}

function readSetting(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8").trim() : null;
}
