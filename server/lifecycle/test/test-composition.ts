import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createDatabase } from "../../../db/client.ts";
import { createEgress } from "../../egress/create-egress.ts";
import { createCallers } from "../../gateway/create-callers.ts";
import { createGateway } from "../../gateway/create-gateway.ts";
import { createLogger } from "../../lib/logger.ts";
import { createSecretBox } from "../../lib/secret-box.ts";
import { createModelCatalogue } from "../../models/model-catalogue.ts";
import type { LocalBackendOptions } from "../../sandboxes/backends/local/create-local-backend.ts";
import { createTestBackend } from "../../sandboxes/backends/local/test/test-backend.ts";
import { createSidecarClient } from "../../sandboxes/index.ts";
import { createSandboxBackends } from "../../sandboxes/sandbox-backends.ts";
import { createLifecycle } from "../create-lifecycle.ts";
import type { LifecycleOptions, SandboxArchives } from "../lifecycle-context.ts";
import { createSigningKey } from "../signing-key.ts";

export const projectRoot = resolve(import.meta.dirname, "../../..");

export const createTestSecretBox = () => createSecretBox(Buffer.alloc(32, 1));

/** For tests in which nothing is kept but the disk. */
export const noArchives: SandboxArchives = {
  async wakeHistory({ sidecar, signal }) {
    await sidecar.markRestored(signal);
    return { cause: null };
  },
  archiveSandbox: async () => ({ failures: [] }),
  savedUntil: async () => new Date(0),
  forget: async () => {},
  clearRemoved: async () => {},
};

export interface Composition {
  applicationUrl: string;
  home: string;
  /** The bundled sidecar. */
  sidecar: string;
  /** What the sandbox may reach although it is no public address. */
  allow?: { host: string; port: number | null }[];
  /** A stand-in by default, since opencode takes two seconds of a core to start. */
  agent?: "opencode" | "stand-in";
  backend?: Partial<LocalBackendOptions>;
  lifecycle?: Partial<LifecycleOptions>;
}

function standIn() {
  const path = join(import.meta.dirname, "stand-in-agent.mjs");
  return { path, version: createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 12) };
}

/** What wiring.ts does, as far as the lifecycle goes: real database, gateway, egress, bubblewrap and sidecar. */
export async function compose(composition: Composition) {
  const { applicationUrl, home, sidecar, allow = [], agent = "stand-in", ...changes } = composition;
  const logger = createLogger("silent");
  const database = createDatabase(applicationUrl, { connections: 5 });
  const secretBox = createTestSecretBox();
  const callers = createCallers({ database });
  const proxy = { http: null, https: null, except: "" };
  const rules = { kind: "open" as const, allow };
  const egress = createEgress({ rules, proxy, findCaller: callers.find, permits: () => true, logger });
  const catalogue = createModelCatalogue({ providers: {} });
  const gateway = createGateway({
    database,
    secretBox,
    catalogue,
    callers,
    egress,
    proxy,
    demoPace: "instant",
    logger,
  });
  const backend = createTestBackend(home, {
    programs: { sidecar, ...(agent === "stand-in" && { opencode: standIn() }) },
    requests: {
      serve(request, response) {
        if (!gateway.handle(request, response)) response.writeHead(404).end();
      },
      connect: gateway.connect,
    },
    ...changes.backend,
  });
  const lifecycle = createLifecycle({
    database,
    backends: createSandboxBackends([backend]),
    secretBox,
    signingKey: createSigningKey(Buffer.alloc(32, 2)),
    createSidecarClient,
    agentConfig: gateway.agentConfig,
    archives: noArchives,
    homeId: home,
    home: { id: home, machine: "test" },
    logger,
    ...changes.lifecycle,
  });
  return {
    database,
    backend,
    lifecycle,
    async close(options: { terminate: boolean }) {
      await lifecycle.close(options);
      await backend.close();
      await gateway.close();
      await database.close();
    },
  };
}
