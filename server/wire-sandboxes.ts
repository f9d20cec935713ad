import type { Database } from "../db/client.ts";
import { BootError } from "./boot/boot-error.ts";
import { deriveKey } from "./boot/master-key.ts";
import type { Config } from "./config.ts";
import { createEgress } from "./egress/create-egress.ts";
import { isAppError } from "./errors.ts";
import { createCallers } from "./gateway/create-callers.ts";
import { createGateway } from "./gateway/create-gateway.ts";
import type { DemoPace } from "./gateway/demo-model/create-demo-model.ts";
import type { Gateway } from "./gateway/index.ts";
import type { Logger } from "./lib/logger.ts";
import type { SecretBox } from "./lib/secret-box.ts";
import { createLifecycle } from "./lifecycle/create-lifecycle.ts";
import type { Lifecycle } from "./lifecycle/index.ts";
import { readPlace } from "./lifecycle/read-place.ts";
import { createSigningKey } from "./lifecycle/signing-key.ts";
import { createLocalBackend } from "./sandboxes/backends/local/create-local-backend.ts";
import { findBubblewrap } from "./sandboxes/backends/local/find-bubblewrap.ts";
import { findPrograms, type SandboxPrograms } from "./sandboxes/backends/local/find-programs.ts";
import type { createSidecarClient } from "./sandboxes/create-sidecar-client.ts";
import type { Isolation } from "./sandboxes/isolation.ts";
import type { SandboxBackend } from "./sandboxes/sandbox-backend.ts";
import type { Archives } from "./snapshots/index.ts";

/** The part of the composition root that runs sandboxes: what they call, where they run, who wakes them. */
export async function wireSandboxes(input: {
  config: Config;
  root: string;
  home: string;
  masterKey: Buffer;
  database: Database;
  secretBox: SecretBox;
  isolation: Isolation;
  archives: Pick<Archives, "wakeHistory">;
  logger: Logger;
  stopping: AbortSignal;
  createSidecarClient: typeof createSidecarClient;
  place?: string;
  demoPace?: DemoPace | undefined;
}): Promise<{ gateway: Gateway; backend: SandboxBackend; lifecycle: Lifecycle }> {
  const { config, root, home, masterKey, database, secretBox, isolation, logger, stopping } = input;
  const callers = createCallers({ database });
  const egress = createEgress({
    rules: config.egress,
    proxy: config.proxy,
    findCaller: (headers) => callers.find(headers),
    logger,
  });
  const { proxy } = config;
  const demoPace = input.demoPace ?? config.demoPace;
  const gateway = createGateway({ database, secretBox, callers, egress, proxy, demoPace, logger });
  const found =
    isolation.kind === "sandboxed"
      ? await findBubblewrap(config.searchPath, AbortSignal.any([stopping, AbortSignal.timeout(10_000)]))
      : null;
  const backend = createLocalBackend({
    home,
    programs: requirePrograms(root),
    bubblewrap: found && "path" in found ? found : null,
    hostAllowed: config.isolation !== "sandboxed",
    searchPath: config.searchPath,
    serve(request, response) {
      if (!gateway.handle(request, response)) response.writeHead(404).end();
    },
    connect: (request, socket, head) => gateway.connect(request, socket, head),
  });
  const lifecycle = createLifecycle({
    database,
    backend,
    strongest: isolation.kind,
    secretBox,
    signingKey: createSigningKey(deriveKey(masterKey, "sidecar-signing")),
    createSidecarClient: input.createSidecarClient,
    agentConfig: (caller) => gateway.agentConfig(caller),
    wakeHistory: (wake) => input.archives.wakeHistory(wake),
    place: input.place ?? (await readPlace(home)),
    logger,
  });
  return { gateway, backend, lifecycle };
}

function requirePrograms(root: string): SandboxPrograms {
  try {
    return findPrograms(root);
  } catch (error) {
    throw isAppError(error) ? new BootError(error.message, { cause: error }) : error;
  }
}
