import { AppError } from "../errors.ts";
import type { SandboxBackend } from "./sandbox-backend.ts";

/** The backends that are set up here. The `backend` column of a sandbox's row chooses one. */
export interface SandboxBackends {
  /** For sandboxes that are made from now on. */
  readonly preferred: SandboxBackend;
  readonly all: readonly SandboxBackend[];
  /** Null when that kind is not set up here. */
  find(kind: string): SandboxBackend | null;
  /** Throws `unavailable` instead. */
  require(kind: string): SandboxBackend;
  close(): Promise<void>;
}

/** The first is the preferred one. */
export function createSandboxBackends(all: readonly SandboxBackend[]): SandboxBackends {
  const [preferred] = all;
  if (!preferred) throw new Error("There is no backend.");
  const find = (kind: string) => all.find((backend) => backend.kind === kind) ?? null;
  return {
    preferred,
    all,
    find,
    require(kind) {
      const backend = find(kind);
      if (backend) return backend;
      const message = `This session's sandbox runs on ${kind}, which is not set up here.`;
      throw new AppError("unavailable", message, { code: "isolation-unavailable" });
    },
    async close() {
      await Promise.all(all.map((backend) => backend.close()));
    },
  };
}
