import { z } from "zod";
import type { Viewer } from "@/server/auth/index.ts";
import { type LifecycleVerb, lifecycleVerbs } from "@/server/protocol/lifecycle-verbs.ts";
import type { SandboxScope } from "@/server/sandboxes/index.ts";
import { services } from "@/server/services.ts";
import { action } from "./action.ts";

const verbs = Object.keys(lifecycleVerbs) as [LifecycleVerb, ...LifecycleVerb[]];

/** The button of a lifecycle verb: for one's own sandboxes and, for admins, those of the tenant. */
export function requestAction(scope: SandboxScope, requireViewer: () => Promise<Viewer>) {
  return action({
    input: z.object({ sandboxId: z.string(), verb: z.enum(verbs), files: z.boolean().optional() }),
    run: async ({ sandboxId, verb, files }) => {
      const options = files ? { files } : {};
      await services().sandboxes.request(await requireViewer(), { scope, sandboxId, verb, options });
    },
  });
}
