import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** One folder of the session's files; `path` is relative to its directory. */
export const GET = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const path = new URL(request.url).searchParams.get("path") ?? "";
  const { signal } = request;
  return Response.json(await services().files.list(viewer, { sessionId, path, signal }));
});
