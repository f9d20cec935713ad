import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const GET = route(async () => {
  const viewer = await requireUser();
  return Response.json({ sessions: await services().sessions.list(viewer) });
});

export const POST = route(async () => {
  const viewer = await requireUser();
  return Response.json({ session: await services().sessions.create(viewer) }, { status: 201 });
});
