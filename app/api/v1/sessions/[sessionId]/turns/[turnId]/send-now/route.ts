import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** Sends a waiting message into the running turn. 409 once it has begun. */
export const POST = route<{ sessionId: string; turnId: string }>(async (_request, key) => {
  const viewer = await requireUser();
  return Response.json({ turn: await services().turns.sendNow(viewer, key) }, { status: 202 });
});
