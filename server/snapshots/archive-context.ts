import type { Database, Transaction } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import type { FileStore } from "../file-store/index.ts";
import type { Logger } from "../lib/logger.ts";
import { type OwnedSandbox, writeUnderLease } from "../lifecycle/index.ts";

export interface ArchiveContext {
  database: Database;
  fileStore: FileStore;
  logger: Pick<Logger, "info" | "warn" | "error">;
  /** Hears of each change of a session's snapshots or memory, so that its viewers can be told. Returns at once. */
  onSessionChanged?(sessionId: string): void;
}

/** One thing that is archived in generations: the history or HOME of a sandbox, or one session's workspace. */
export type Subject = { kind: "history" | "home"; sessionId: null } | { kind: "workspace"; sessionId: string };

/** One transaction, in somebody's name. */
export type Write = <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>;

/** For what a server does with a sandbox that it runs: changes nothing, and throws, once another one has the lease. */
export function asHolder(
  { database }: Pick<ArchiveContext, "database">,
  { actor, sandboxId, leaseEpoch }: Pick<OwnedSandbox, "actor" | "sandboxId" | "leaseEpoch">,
): Write {
  return (work) => writeUnderLease({ database, actor, lease: { sandboxId, leaseEpoch } }, work);
}

/** For what a person asks for, or what nobody does any more. */
export function asPerson({ database }: Pick<ArchiveContext, "database">, actor: Actor): Write {
  return (work) => database.transaction(actor, work);
}

/** For what has to be cleaned up after the work itself was given up. */
export const cleanUpMilliseconds = 30_000;
