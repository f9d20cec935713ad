import { AppError } from "../errors.ts";
import { endSandbox } from "./end-sandbox.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";
import { createTransitionLock } from "./transition-lock.ts";
import { watchSandbox } from "./watch-sandbox.ts";

/**
 * Which sandboxes run under leases of this process. One comes in by a wake or by adoption, is watched while it is
 * held, and leaves when it is lost, superseded, ended or let go of; its signal is aborted then.
 */
export interface HeldSandboxes {
  get(sandboxId: string): HeldSandbox | undefined;
  all(): HeldSandbox[];
  /** Watched from here on. */
  hold(sandbox: HeldSandbox): HeldSandbox;
  /** False when it was not held any more. `cause` is what those who use it hear. */
  letGo(sandbox: HeldSandbox, cause: string): boolean;
  /** Whatever is left of it is ended, so that the next wake finds nothing beside it. */
  lose(sandbox: HeldSandbox, cause: string): Promise<void>;
  /** It is being ended, taken over or made anew. */
  isChanging(sandboxId: string): boolean;
  /** Resolves once no change of it is under way, however that went. */
  changed(sandboxId: string): Promise<void>;
  /** Lets go of it for a change that has to be over before anybody wakes it. */
  change<Result>(sandboxId: string, work: () => Promise<Result>): Promise<Result>;
  inBackground(task: Promise<unknown>, what: string): void;
  /** Waits for all that goes on in the background. */
  ended(): Promise<void>;
}

export function createHeldSandboxes(
  context: LifecycleContext,
  { stopping, onLetGo }: { stopping: AbortSignal; onLetGo(sandboxId: string): void },
): HeldSandboxes {
  const { logger } = context;
  const held = new Map<string, HeldSandbox>();
  const background = new Set<Promise<void>>();
  const transitions = createTransitionLock();

  const sandboxes: HeldSandboxes = {
    get: (sandboxId) => held.get(sandboxId),
    all: () => [...held.values()],
    hold(sandbox) {
      held.set(sandbox.lease.sandboxId, sandbox);
      const watching = watchSandbox(context, sandbox).then((cause) => (cause ? sandboxes.lose(sandbox, cause) : null));
      sandboxes.inBackground(watching, "A sandbox is no longer being watched");
      return sandbox;
    },
    letGo(sandbox, cause) {
      const { sandboxId } = sandbox.lease;
      if (held.get(sandboxId) !== sandbox) return false;
      held.delete(sandboxId);
      onLetGo(sandboxId);
      sandbox.lost.abort(new AppError("unavailable", cause));
      return true;
    },
    lose(sandbox, cause) {
      const { sandboxId } = sandbox.lease;
      if (!sandboxes.letGo(sandbox, cause)) return transitions.ended(sandboxId);
      logger.warn({ sandboxId }, cause);
      // Nothing answered, perhaps because this process itself stood still: then another one runs it by now, and it stays.
      const changes = { observedState: "failed", stateCause: cause } as const;
      return transitions
        .run(sandboxId, async () => void (await endSandbox(context, { ...sandbox, changes })))
        .catch((error: unknown) => logger.error({ err: error, sandboxId }, "A lost sandbox could not be cleaned up"));
    },
    isChanging: (sandboxId) => transitions.has(sandboxId),
    changed: (sandboxId) => transitions.ended(sandboxId),
    change: (sandboxId, work) => transitions.run(sandboxId, work),
    inBackground(task, what) {
      const guarded = task
        .then(
          () => {},
          (error: unknown) => {
            if (!stopping.aborted) logger.error({ err: error }, what);
          },
        )
        .finally(() => background.delete(guarded));
      background.add(guarded);
    },
    async ended() {
      while (background.size > 0) await Promise.all(background);
    },
  };
  return sandboxes;
}
