import { z } from "zod";
import type { Viewer } from "@/server/auth/index.ts";
import { AppError } from "@/server/errors.ts";
import { type LifecycleVerb, lifecycleVerbs } from "@/server/protocol/lifecycle-verbs.ts";
import type { SandboxScope } from "@/server/sandboxes/index.ts";
import { services } from "@/server/services.ts";
import { readJson } from "./read-json.ts";
import { route } from "./route-handler.ts";

const options = z.object({ files: z.boolean().optional() });
const settings = z.object({
  idleMinutes: z.number().int().nullable().optional(),
  keepAwakeUntil: z.coerce.date().nullable().optional(),
});

/** The same for one's own sandboxes and, for admins, those of the tenant. */
export function sandboxRoutes(scope: SandboxScope, requireViewer: () => Promise<Viewer>) {
  return {
    list: route(async () =>
      Response.json({ sandboxes: await services().sandboxes.list(await requireViewer(), scope) }),
    ),
    configure: route<{ sandboxId: string }>(async (request, { sandboxId }) => {
      const viewer = await requireViewer();
      const chosen = await readJson(request, settings);
      await services().sandboxes.configure(viewer, { scope, sandboxId, ...chosen });
      return new Response(null, { status: 204 });
    }),
    /** 202: it is asked for; `GET …/operations/{id}` says how far it is. */
    request: route<{ sandboxId: string; verb: string }>(async (request, { sandboxId, verb }) => {
      const viewer = await requireViewer();
      if (!isVerb(verb)) {
        const known = Object.keys(lifecycleVerbs).join(", ");
        throw new AppError("not-found", `A sandbox has no verb "${verb}". Its verbs are: ${known}.`);
      }
      const input = { scope, sandboxId, verb, options: await readJson(request, options) };
      return Response.json({ operation: await services().sandboxes.request(viewer, input) }, { status: 202 });
    }),
    operation: route<{ sandboxId: string; operationId: string }>(async (_request, key) =>
      Response.json({ operation: await services().sandboxes.operation(await requireViewer(), { scope, ...key }) }),
    ),
  };
}

function isVerb(name: string): name is LifecycleVerb {
  return Object.hasOwn(lifecycleVerbs, name);
}
