import { idempotencyKey } from "@/app/lib/idempotency-key.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** Brings back what was taken back since the last prompt. The key is optional. */
export const POST = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const key = idempotencyKey(request.headers.get("idempotency-key") ?? crypto.randomUUID());
  const turn = await services().turns.redo(viewer, { sessionId, idempotencyKey: key });
  return Response.json({ turn }, { status: 202 });
});
