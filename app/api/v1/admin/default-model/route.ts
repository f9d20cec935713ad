import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** Null: the demo model answers. */
const body = z.object({ model: z.object({ providerId: z.string(), modelId: z.string() }).nullable() });

export const PUT = route(async (request) => {
  const viewer = await requireAdmin();
  const { model } = await readJson(request, body);
  await services().models.chooseDefault(viewer, model);
  return Response.json({ model });
});
