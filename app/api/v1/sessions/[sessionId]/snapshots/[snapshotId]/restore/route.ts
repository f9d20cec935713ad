import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** Puts the workspace back to the snapshot: now, or at its next wake. */
export const POST = route<{ sessionId: string; snapshotId: string }>(async (_request, { sessionId, snapshotId }) => {
  const viewer = await requireUser();
  const { snapshots, stopping } = services();
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(30 * 60_000)]);
  return Response.json(await snapshots.restore(viewer, { sessionId, snapshotId, signal }));
});

/** Takes a restore at the next wake back; 409 once the sandbox is awake. */
export const DELETE = route<{ sessionId: string; snapshotId: string }>(async (_request, key) => {
  await services().snapshots.withdrawRestore(await requireUser(), key);
  return new Response(null, { status: 204 });
});
