import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** While the machine of the session's sandbox is away: the session goes on here, from its newest snapshot. */
export const POST = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  await services().turns.continueHere(await requireUser(), sessionId);
  return Response.json({ continued: true });
});
