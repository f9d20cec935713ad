import type { IncomingMessage, ServerResponse } from "node:http";
import type { Database } from "../../db/client.ts";
import { buildAgentConfig } from "../agent/index.ts";
import type { Egress } from "../egress/index.ts";
import type { Logger } from "../lib/logger.ts";
import { createOutbound, type OutboundProxy } from "../lib/outbound.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { demoProviderId, type ModelCatalogue } from "../models/index.ts";
import { answerProblem, noAccess, notOffered, problemOf, problems } from "./answer-problem.ts";
import type { Callers } from "./create-callers.ts";
import { createDemoModel, type DemoPace } from "./demo-model/create-demo-model.ts";
import { findProvider, readTenantModels } from "./find-provider.ts";
import { isAllowed, isGatewayPath, parseRoute } from "./gateway-route.ts";
import type { Gateway } from "./index.ts";
import { passThrough } from "./pass-through.ts";

export interface GatewayOptions {
  database: Database;
  secretBox: SecretBox;
  catalogue: ModelCatalogue;
  callers: Callers;
  egress: Egress;
  /** The machine's own way out. */
  proxy: OutboundProxy;
  demoPace: DemoPace;
  logger: Pick<Logger, "warn" | "error">;
  /** How long a provider may be silent; for tests. */
  silenceMilliseconds?: number;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { database, secretBox, callers, egress, logger } = options;
  const dispatcher = createOutbound(options.proxy, options.silenceMilliseconds);
  const demo = createDemoModel({ pace: options.demoPace });
  const closing = new AbortController();
  const calls = new Set<Promise<void>>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const caller = await callers.find(request.headers);
    if (!caller) return answerProblem(response, "openai", noAccess(await callers.refusal(request.headers)));
    const route = parseRoute(request.url ?? "");
    const method = request.method ?? "";
    if (!route) return answerProblem(response, "openai", notOffered(method, (request.url ?? "").split("?")[0] ?? ""));
    const { providerId, path } = route;
    if (providerId === demoProviderId) {
      if (!isAllowed("openai-compatible", method, path) || path === "responses") {
        return answerProblem(response, "openai", notOffered(method, path));
      }
      return demo.answer({ path, request, response, signal: closing.signal });
    }
    const provider = await findProvider({ database, secretBox }, caller, providerId);
    if (!provider) return answerProblem(response, "openai", problems.noProvider);
    if (!isAllowed(provider.kind, method, path)) {
      return answerProblem(response, provider.kind, notOffered(method, path));
    }
    return passThrough({ provider, path, request, response, dispatcher, signal: closing.signal, logger });
  }

  return {
    handle(request, response) {
      if (!isGatewayPath(request.url ?? "")) return false;
      const call = answer(request, response).catch((error: unknown) => {
        // Whoever left in the middle of sending needs no answer.
        if (response.destroyed || (request.destroyed && !request.complete)) return;
        logger.error({ err: error }, "The gateway failed");
        answerProblem(response, "openai", problemOf(error));
      });
      calls.add(call);
      void call.finally(() => calls.delete(call));
      return true;
    },
    connect: (request, socket, head) => egress.connect(request, socket, head),
    agentConfig: async (person) => buildAgentConfig(await readTenantModels(options, person)),
    async close() {
      closing.abort();
      await Promise.all([...calls, egress.close()]);
      await dispatcher.destroy();
    },
  };
}
