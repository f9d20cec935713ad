import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { providerKinds } from "@/server/models/index.ts";
import { services } from "@/server/services.ts";

const body = z.object({
  kind: z.enum(providerKinds),
  name: z.string(),
  baseUrl: z.string().optional(),
  key: z.string().optional(),
});

export const GET = route(async () => {
  const viewer = await requireAdmin();
  return Response.json(await services().models.settings(viewer));
});

export const POST = route(async (request) => {
  const viewer = await requireAdmin();
  const provider = await services().models.addProvider(viewer, await readJson(request, body));
  return Response.json({ provider }, { status: 201 });
});
