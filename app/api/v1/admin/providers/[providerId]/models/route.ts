import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { modelDetails } from "@/server/protocol/model-details.ts";
import { services } from "@/server/services.ts";

const change = z.object({ modelId: z.string(), details: modelDetails.nullable() });
const body = z.object({ models: z.array(z.object({ id: z.string(), name: z.string(), enabled: z.boolean() })) });

export const PUT = route<{ providerId: string }>(async (request, { providerId }) => {
  const viewer = await requireAdmin();
  const { models } = await readJson(request, body);
  return Response.json({ provider: await services().models.chooseModels(viewer, providerId, models) });
});

/** One model's prices and limits; null goes back to the catalogue. Ids have slashes, so it is not in the path. */
export const PATCH = route<{ providerId: string }>(async (request, { providerId }) => {
  const viewer = await requireAdmin();
  const input = await readJson(request, change);
  return Response.json({ provider: await services().models.changeModel(viewer, { providerId, ...input }) });
});
