import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { networkRules } from "@/server/egress/index.ts";
import { services } from "@/server/services.ts";

const body = z.object({ rule: z.enum(networkRules), hosts: z.array(z.string()) });

/** What sandboxes may reach, and the bound that the server's configuration sets. */
export const GET = route(async () => Response.json(await services().network.settings(await requireAdmin())));

export const PUT = route(async (request) => {
  const viewer = await requireAdmin();
  return Response.json(await services().network.choose(viewer, await readJson(request, body)));
});
