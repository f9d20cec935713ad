import type { Viewer } from "../auth/index.ts";
import type { LifecycleVerb, OperationOptions } from "../protocol/lifecycle-verbs.ts";
import type { OperationView, SandboxView } from "../protocol/sandbox-views.ts";

export { createSidecarClient } from "./create-sidecar-client.ts";
export { mayBecome } from "./sandbox-state.ts";
export { codedRefusal } from "./sidecar-answer.ts";

/** Whose sandboxes somebody acts on: their own, or, as an admin, anybody's of their tenant. */
export type SandboxScope = "own" | "tenant";

export interface Sandboxes {
  /** `tenant` throws `forbidden` for all but admins. Newest activity last in the tenant, by name. */
  list(viewer: Viewer, scope: SandboxScope): Promise<SandboxView[]>;
  /**
   * Asks for a lifecycle verb, or joins what is asked for already. Whoever holds the sandbox carries it out.
   * `not-found` for what is out of the scope; `conflict` says what is in the way.
   */
  request(
    viewer: Viewer,
    input: { scope: SandboxScope; sandboxId: string; verb: LifecycleVerb; options?: OperationOptions },
  ): Promise<OperationView>;
  /** How far that is. `not-found` as above. */
  operation(
    viewer: Viewer,
    input: { scope: SandboxScope; sandboxId: string; operationId: string },
  ): Promise<OperationView>;
  /** When it may sleep by itself. `idleMinutes`: null as its tenant has it, 0 never. */
  configure(
    viewer: Viewer,
    input: {
      scope: SandboxScope;
      sandboxId: string;
      idleMinutes?: number | null;
      keepAwakeUntil?: Date | null;
    },
  ): Promise<void>;
  /**
   * Somebody is about to need the sandbox of a session of theirs: it is woken where it sleeps or has failed. A session
   * that has none stays without, and one that is unknown or another person's is `not-found`.
   */
  wakeAhead(viewer: Viewer, sessionId: string): Promise<void>;
  /** Minutes after which sandboxes of the tenant sleep, where their person chose nothing else; 0: never. */
  idleLimit(viewer: Viewer): Promise<number>;
  /** `forbidden` for all but admins. */
  setIdleLimit(viewer: Viewer, minutes: number): Promise<void>;
}
