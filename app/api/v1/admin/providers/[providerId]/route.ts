import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

const change = z.object({
  name: z.string().optional(),
  baseUrl: z.string().optional(),
  key: z.string().optional(),
});

export const PATCH = route<{ providerId: string }>(async (request, { providerId }) => {
  const viewer = await requireAdmin();
  const provider = await services().models.updateProvider(viewer, providerId, await readJson(request, change));
  return Response.json({ provider });
});

export const DELETE = route<{ providerId: string }>(async (_request, { providerId }) => {
  const viewer = await requireAdmin();
  await services().models.removeProvider(viewer, providerId);
  return new Response(null, { status: 204 });
});
