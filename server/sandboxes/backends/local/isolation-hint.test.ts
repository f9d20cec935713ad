import { describe, expect, it } from "vitest";
import { isolationHint } from "./isolation-hint.ts";

const hint = (settings: Record<string, string>) => isolationHint((path) => settings[path] ?? null);

describe("the hint after a trial sandbox that did not start", () => {
  it.each([
    ["AppArmor", { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1" }],
    ["kernel.unprivileged_userns_clone=1", { "/proc/sys/kernel/unprivileged_userns_clone": "0" }],
    ["user.max_user_namespaces=10000", { "/proc/sys/user/max_user_namespaces": "0" }],
    ["container", { "/.dockerenv": "" }],
    ["container", { "/run/.containerenv": "" }],
    ["in a terminal", {}],
  ])("names %s", (what, settings) => {
    expect(hint(settings as Record<string, string>)).toContain(what);
  });

  it("does not blame settings that allow user namespaces", () => {
    const settings = {
      "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0",
      "/proc/sys/kernel/unprivileged_userns_clone": "1",
      "/proc/sys/user/max_user_namespaces": "96349",
    };
    expect(hint(settings)).toContain("in a terminal");
  });
});
