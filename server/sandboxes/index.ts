import type { Viewer } from "../auth/index.ts";
import type { SandboxState } from "../protocol/sandbox.ts";

export { createSidecarClient } from "./create-sidecar-client.ts";
export { mayBecome } from "./sandbox-state.ts";
export { codedRefusal } from "./sidecar-answer.ts";

/** One row of the admin's table. No titles, no transcripts. */
export interface SandboxRow {
  id: string;
  personName: string;
  personEmail: string;
  backend: string;
  isolation: string;
  state: SandboxState;
  wantedState: SandboxState;
  cause: string | null;
  /** The machine that alone can run it; null where any server can. */
  home: { machine: string | null; seenAt: Date | null; isAway: boolean } | null;
  sessionCount: number;
  lastActiveAt: Date | null;
  createdAt: Date;
}

export interface Sandboxes {
  /** Admin. */
  list(viewer: Viewer): Promise<SandboxRow[]>;
}
