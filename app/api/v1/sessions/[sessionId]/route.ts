import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

const noSession = () => new AppError("not-found", "There is no such session.");
const change = z.object({ title: z.string("Enter a title.") });

export const GET = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  const viewer = await requireUser();
  const [session, state] = await Promise.all([
    services().sessions.find(viewer, sessionId),
    services().log.state(viewer, sessionId),
  ]);
  if (!session || !state) throw noSession();
  return Response.json({ session, state });
});

export const PATCH = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { title } = await readJson(request, change);
  const session = await services().sessions.rename(viewer, sessionId, title);
  if (!session) throw noSession();
  return Response.json({ session });
});

export const DELETE = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  const viewer = await requireUser();
  if (!(await services().sessions.remove(viewer, sessionId))) throw noSession();
  return new Response(null, { status: 204 });
});
