import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** One folder of the session's files; `path` is relative to its directory. */
export const GET = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { signal } = request;
  return Response.json(await services().files.list(viewer, { sessionId, path: pathOf(request), signal }));
});

/** A file, or a folder with all that is in it. */
export const DELETE = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  await services().files.remove(viewer, { sessionId, path: pathOf(request), signal: request.signal });
  return new Response(null, { status: 204 });
});

function pathOf(request: Request): string {
  return new URL(request.url).searchParams.get("path") ?? "";
}
