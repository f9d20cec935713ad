import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

const body = z.object({ models: z.array(z.object({ id: z.string(), name: z.string(), enabled: z.boolean() })) });

export const PUT = route<{ providerId: string }>(async (request, { providerId }) => {
  const viewer = await requireAdmin();
  const { models } = await readJson(request, body);
  return Response.json({ provider: await services().models.chooseModels(viewer, providerId, models) });
});
