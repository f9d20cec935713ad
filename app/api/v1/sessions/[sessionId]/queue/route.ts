import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

/** All that waits, in its order; a session's events carry only the first of it. Long words are cut (`isCut`). */
export const GET = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  const queue = await services().log.queue(await requireUser(), sessionId);
  if (!queue) throw new AppError("not-found", "There is no such session.");
  return Response.json({ queue });
});
