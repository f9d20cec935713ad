import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { reachableProgram } from "../../../lib/reachable-program.ts";
import type { SidecarLaunch } from "../../../protocol/sidecar.ts";
import type { Bubblewrap } from "./find-bubblewrap.ts";
import type { SandboxPrograms } from "./find-programs.ts";
import { makeInsideFiles } from "./inside-files.ts";
import type { LocalIsolations } from "./local-isolations.ts";
import type { PathsOfSandbox } from "./sandbox-paths.ts";
import { sandboxUid } from "./sandbox-uid.ts";
import type { SidecarProgram } from "./start-sidecar.ts";

export interface ProgramOptions {
  sandboxId: string;
  isolation: Awaited<ReturnType<LocalIsolations["require"]>>;
  paths: PathsOfSandbox;
  programs: SandboxPrograms;
  /** PATH of the machine, for `host`. */
  searchPath: string;
}

/** How the sidecar is started, and what of its launch depends on where it runs. */
export interface SandboxProgram {
  program: SidecarProgram;
  launch: Pick<SidecarLaunch, "door" | "server" | "workspace" | "programs" | "proxyEgress" | "ownPidNamespace">;
}

export async function planSandbox(options: ProgramOptions): Promise<SandboxProgram> {
  const { isolation } = options;
  return isolation.name === "host" ? planHost(options) : planSandboxed(options, isolation.bubblewrap);
}

function planHost({ paths, programs, searchPath }: ProgramOptions): SandboxProgram {
  return {
    program: { isolation: "host", node: programs.node.path, sidecar: programs.sidecar },
    launch: {
      door: { kind: "socket", path: paths.door },
      server: { kind: "socket", path: paths.server },
      workspace: paths.workspace,
      programs: {
        opencode: programs.opencode.path,
        ripgrepDirectory: dirname(programs.ripgrep.path),
        path: searchPath,
      },
      proxyEgress: false,
      ownPidNamespace: false,
    },
  };
}

// The machine's own node comes before ours, since its npm belongs to it.
const insidePath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/opt/dormouse/bin";

async function planSandboxed(
  { sandboxId, paths, programs }: ProgramOptions,
  bubblewrap: Bubblewrap,
): Promise<SandboxProgram> {
  const uid = sandboxUid(sandboxId);
  const user = uid === null ? null : { uid, gid: uid };
  const reach = (program: string, version: string) => reachableProgram({ program, version, user });
  const sidecarVersion = createHash("sha256").update(readFileSync(programs.sidecar)).digest("hex").slice(0, 12);
  const readOnly = (source: string, destination: string) => ({ source, destination, writable: false });
  const mounts = [
    readOnly(await reach(programs.node.path, programs.node.version), "/opt/dormouse/bin/node"),
    readOnly(await reach(programs.ripgrep.path, programs.ripgrep.version), "/opt/dormouse/rg/rg"),
    readOnly(await reach(programs.opencode.path, programs.opencode.version), "/opt/dormouse/opencode"),
    readOnly(await reach(programs.sidecar, sidecarVersion), "/opt/dormouse/sidecar.mjs"),
    ...(await makeInsideFiles(paths.directory)),
    { source: paths.workspace, destination: "/workspace", writable: true },
    { source: paths.doorDirectory, destination: "/run/dormouse/door", writable: true },
    readOnly(paths.serverDirectory, "/run/dormouse/server"),
  ];
  return {
    program: {
      isolation: "sandboxed",
      bubblewrap,
      uid,
      mounts,
      node: "/opt/dormouse/bin/node",
      sidecar: "/opt/dormouse/sidecar.mjs",
    },
    launch: {
      door: { kind: "socket", path: "/run/dormouse/door/socket" },
      server: { kind: "socket", path: "/run/dormouse/server/socket" },
      workspace: "/workspace",
      programs: { opencode: "/opt/dormouse/opencode", ripgrepDirectory: "/opt/dormouse/rg", path: insidePath },
      proxyEgress: true,
      ownPidNamespace: true,
    },
  };
}
