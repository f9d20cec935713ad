import type { Accounts } from "./accounts/index.ts";
import type { Admission } from "./auth/index.ts";
import type { Network } from "./egress/index.ts";
import type { Files } from "./files/index.ts";
import type { Models } from "./models/index.ts";
import type { Sandboxes } from "./sandboxes/index.ts";
import type { SessionLog, Sessions } from "./sessions/index.ts";
import type { Snapshots } from "./snapshots/index.ts";
import type { Turns } from "./turns/index.ts";

/** What routes and pages may call. Built once by wiring.ts, reached through globalThis. */
export interface Services {
  /** Where people reach this server; links are made from it, never from request headers. */
  publicUrl: string;
  /** Signs next-auth's cookie; derived from the master key. */
  signInSecret: string;
  accounts: Accounts;
  admission: Admission;
  models: Models;
  network: Network;
  sandboxes: Sandboxes;
  sessions: Sessions;
  log: SessionLog;
  turns: Turns;
  files: Files;
  snapshots: Snapshots;
  /** Aborted when the server is about to stop: open streams say so and end. */
  stopping: AbortSignal;
  /** Throws `unavailable` when the database does not answer. */
  requireReady(): Promise<void>;
  /** Logs what nobody expected; returns the reference that the person is shown. */
  reportError(error: unknown): string;
}

const key = Symbol.for("dormouse.services");
const shared = globalThis as { [key]?: Services };

/** The bundled routes hold their own copy of every module, so the instance lives on globalThis. */
export function services(): Services {
  const instance = shared[key];
  if (!instance) throw new Error("The services are not wired: pages are served by server/main.ts only.");
  return instance;
}

export function shareServices(instance: Services): void {
  shared[key] = instance;
}
