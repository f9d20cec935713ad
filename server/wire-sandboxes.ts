import { hostname } from "node:os";
import type { Database } from "../db/client.ts";
import type { IsolationFound } from "./accounts/index.ts";
import { deriveKey } from "./boot/master-key.ts";
import type { Config } from "./config.ts";
import { createEgress, type EgressOptions } from "./egress/create-egress.ts";
import { createCallers } from "./gateway/create-callers.ts";
import { createGateway } from "./gateway/create-gateway.ts";
import type { DemoPace } from "./gateway/demo-model/create-demo-model.ts";
import type { Gateway } from "./gateway/index.ts";
import type { Logger } from "./lib/logger.ts";
import type { SecretBox } from "./lib/secret-box.ts";
import { createLifecycle } from "./lifecycle/create-lifecycle.ts";
import type { Lifecycle, SandboxArchives } from "./lifecycle/index.ts";
import { createSigningKey } from "./lifecycle/signing-key.ts";
import type { ModelCatalogue } from "./models/index.ts";
import type { createSidecarClient } from "./sandboxes/create-sidecar-client.ts";
import { type BackendInput, wireBackends } from "./wire-backends.ts";

export interface WiredSandboxes {
  gateway: Gateway;
  isolation: IsolationFound;
  /** Who wakes them; needs what keeps their memory, which needs the file store. */
  wireLifecycle(input: { archives: SandboxArchives; homeId: string; onHomesChanged(): void }): Lifecycle;
  close(): Promise<void>;
}

/** The part of the composition root that runs sandboxes: what they call, where they run, who wakes them. */
export async function wireSandboxes(input: {
  config: Config;
  root: string;
  home: string;
  masterKey: Buffer;
  database: Database;
  secretBox: SecretBox;
  catalogue: ModelCatalogue;
  permits: EgressOptions["permits"];
  logger: Logger;
  stopping: AbortSignal;
  createSidecarClient: typeof createSidecarClient;
  backends?: Parameters<typeof wireBackends>[0]["makers"];
  homeId?: string;
  demoPace?: DemoPace | undefined;
}): Promise<WiredSandboxes> {
  const { config, masterKey, database, secretBox, catalogue, logger } = input;
  const callers = createCallers({ database });
  const egress = createEgress({
    rules: config.egress,
    proxy: config.proxy,
    findCaller: (headers) => callers.find(headers),
    permits: input.permits,
    logger,
  });
  const { proxy } = config;
  const demoPace = input.demoPace ?? config.demoPace;
  const gateway = createGateway({ database, secretBox, catalogue, callers, egress, proxy, demoPace, logger });
  const requests: BackendInput["requests"] = {
    serve(request, response) {
      if (!gateway.handle(request, response)) response.writeHead(404).end();
    },
    connect: (request, socket, head) => gateway.connect(request, socket, head),
  };
  const { backends, isolation, close } = await wireBackends({
    ...input,
    ...(input.backends && { makers: input.backends }),
    requests,
    isSandbox: async (headers) => (await callers.find(headers)) !== null,
    onListenerError: (error) => logger.error({ err: error }, "A sandbox's token could not be checked"),
  });
  const wireLifecycle: WiredSandboxes["wireLifecycle"] = ({ archives, homeId, onHomesChanged }) =>
    createLifecycle({
      database,
      backends,
      secretBox,
      signingKey: createSigningKey(deriveKey(masterKey, "sidecar-signing")),
      createSidecarClient: input.createSidecarClient,
      agentConfig: (caller) => gateway.agentConfig(caller),
      archives,
      homeId: input.homeId ?? homeId,
      home: { id: homeId, machine: hostname() },
      onHomesChanged,
      logger,
    });
  return { gateway, isolation, wireLifecycle, close };
}
