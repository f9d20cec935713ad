import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

export const POST = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  const viewer = await requireUser();
  if (!(await services().sessions.find(viewer, sessionId)))
    throw new AppError("not-found", "There is no such session.");
  return Response.json({ trying: await services().turns.tryNow(viewer, sessionId) }, { status: 202 });
});
