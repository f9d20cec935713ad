import { AppError } from "../../../errors.ts";
import type { Isolation } from "../../sandbox-backend.ts";
import type { Bubblewrap } from "./find-bubblewrap.ts";
import { type IsolationProof, type IsolationTrial, proveIsolation } from "./prove-isolation.ts";

/** The isolations of this backend: in namespaces of its own by bubblewrap, or a plain process of the machine. */
export type LocalIsolation = "sandboxed" | "host";

export interface IsolationOptions {
  /** DORMOUSE_ISOLATION. */
  wanted: "auto" | LocalIsolation;
  searchPath: string;
  /** Tests that need no trial, or none that holds, say so here. */
  prove?: (trial: IsolationTrial) => Promise<IsolationProof>;
}

export interface LocalIsolations {
  list(signal: AbortSignal): Promise<readonly Isolation[]>;
  /** Throws `unavailable` when that cannot be given: nothing falls back (ARCHITECTURE.md, invariant 16). */
  require(name: string, signal: AbortSignal): Promise<{ name: "sandboxed"; bubblewrap: Bubblewrap } | { name: "host" }>;
}

/** The trial is made once in the life of the process. */
export function createLocalIsolations({
  wanted,
  searchPath,
  prove = proveIsolation,
}: IsolationOptions): LocalIsolations {
  let trial: Promise<IsolationProof> | undefined;

  async function proof(signal: AbortSignal): Promise<IsolationProof> {
    if (wanted === "host") return { reason: "Chosen by DORMOUSE_ISOLATION=host: the agent is not isolated." };
    trial ??= prove({ searchPath, signal }).catch((error: unknown) => {
      trial = undefined;
      throw error;
    });
    return trial;
  }

  return {
    async list(signal) {
      const proved = await proof(signal);
      return [toSandboxed(proved, wanted), toHost(wanted)];
    },
    async require(name, signal) {
      if (name === "host" && wanted !== "sandboxed") return { name };
      if (name === "host") {
        throw unavailable("This session runs without isolation, which is no longer allowed here.");
      }
      const proved = name === "sandboxed" ? await proof(signal) : null;
      if (proved && "bubblewrap" in proved) return { name: "sandboxed", bubblewrap: proved.bubblewrap };
      throw unavailable(
        "This session needs isolation, which this machine can no longer provide. The admin page says why.",
      );
    },
  };
}

const unavailable = (message: string) => new AppError("unavailable", message, { code: "isolation-unavailable" });

function toSandboxed(proved: IsolationProof, wanted: IsolationOptions["wanted"]): Isolation {
  const isolation = { name: "sandboxed", confined: true };
  if ("bubblewrap" in proved) return { ...isolation, available: true, detail: proved.detail };
  const asked = "DORMOUSE_ISOLATION is sandboxed, but this machine cannot provide that. ";
  return { ...isolation, available: false, reason: `${wanted === "sandboxed" ? asked : ""}${proved.reason}` };
}

function toHost(wanted: IsolationOptions["wanted"]): Isolation {
  const isolation = { name: "host", confined: false };
  if (wanted !== "sandboxed") return { ...isolation, available: true, detail: "a plain process on this machine" };
  return { ...isolation, available: false, reason: "DORMOUSE_ISOLATION=sandboxed does not allow it." };
}
