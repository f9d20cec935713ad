import { resolve } from "node:path";
import { createDatabase } from "../../../db/client.ts";
import { parseConfig } from "../../config.ts";
import { createEgress } from "../../egress/create-egress.ts";
import { createCallers } from "../../gateway/create-callers.ts";
import { createGateway } from "../../gateway/create-gateway.ts";
import { createLogger } from "../../lib/logger.ts";
import { createSecretBox } from "../../lib/secret-box.ts";
import { createModelCatalogue } from "../../models/model-catalogue.ts";
import { createLocalBackend, type LocalBackendOptions } from "../../sandboxes/backends/local/create-local-backend.ts";
import { findBubblewrap } from "../../sandboxes/backends/local/find-bubblewrap.ts";
import { findPrograms } from "../../sandboxes/backends/local/find-programs.ts";
import { createSidecarClient } from "../../sandboxes/index.ts";
import { createLifecycle } from "../create-lifecycle.ts";
import type { LifecycleOptions } from "../lifecycle-context.ts";
import { createSigningKey } from "../signing-key.ts";

export const projectRoot = resolve(import.meta.dirname, "../../..");

export const createTestSecretBox = () => createSecretBox(Buffer.alloc(32, 1));

export interface Composition {
  applicationUrl: string;
  home: string;
  /** The bundled sidecar. */
  sidecar: string;
  /** What the sandbox may reach although it is no public address. */
  allow?: { host: string; port: number | null }[];
  backend?: Partial<LocalBackendOptions>;
  lifecycle?: Partial<LifecycleOptions>;
}

/** What wiring.ts does, as far as the lifecycle goes: real database, gateway, egress, bubblewrap and sidecar. */
export async function compose({ applicationUrl, home, sidecar, allow = [], ...changes }: Composition) {
  const logger = createLogger("silent");
  const database = createDatabase(applicationUrl, { connections: 5 });
  const secretBox = createTestSecretBox();
  const callers = createCallers({ database });
  const proxy = { http: null, https: null, except: "" };
  const egress = createEgress({ rules: { kind: "open", allow }, proxy, findCaller: callers.find, logger });
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
  const { searchPath } = parseConfig();
  const found = await findBubblewrap(searchPath, AbortSignal.timeout(10_000));
  if ("reason" in found) throw new Error(found.reason);
  const backend = createLocalBackend({
    home,
    programs: findPrograms(projectRoot, { sidecar }),
    bubblewrap: found,
    hostAllowed: true,
    searchPath,
    serve: (request, response) => {
      if (!gateway.handle(request, response)) response.writeHead(404).end();
    },
    connect: gateway.connect,
    ...changes.backend,
  });
  const lifecycle = createLifecycle({
    database,
    backend,
    strongest: "sandboxed",
    secretBox,
    signingKey: createSigningKey(Buffer.alloc(32, 2)),
    createSidecarClient,
    agentConfig: gateway.agentConfig,
    async wakeHistory({ sidecar, signal }) {
      await sidecar.markRestored(signal);
      return { cause: null };
    },
    place: home,
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
