import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** Newest first, with those that failed and why. */
export const GET = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  const viewer = await requireUser();
  return Response.json({ snapshots: await services().snapshots.list(viewer, sessionId) });
});

/** Takes one now and answers when it is verified. */
export const POST = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  const viewer = await requireUser();
  // Not given up with the page that asked for it.
  const { snapshots, stopping } = services();
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(30 * 60_000)]);
  return Response.json(await snapshots.take(viewer, { sessionId, signal }));
});
