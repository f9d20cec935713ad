import { idempotencyKey } from "@/app/lib/idempotency-key.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** Takes the last turn back, its files included. 409 while something runs or waits. The key is optional. */
export const POST = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const key = idempotencyKey(request.headers.get("idempotency-key") ?? crypto.randomUUID());
  const turn = await services().turns.undo(viewer, { sessionId, idempotencyKey: key });
  return Response.json({ turn }, { status: 202 });
});
