import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const POST = route<{ providerId: string }>(async (request, { providerId }) => {
  const viewer = await requireAdmin();
  return Response.json({ provider: await services().models.testProvider(viewer, providerId, request.signal) });
});
