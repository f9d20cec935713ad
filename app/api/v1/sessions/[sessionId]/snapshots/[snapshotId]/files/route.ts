import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** What is in the snapshot and what was left out of it; the sandbox need not be awake. */
export const GET = route<{ sessionId: string; snapshotId: string }>(async (request, { sessionId, snapshotId }) => {
  const viewer = await requireUser();
  const input = { sessionId, snapshotId, signal: request.signal };
  return Response.json(await services().snapshots.listFiles(viewer, input));
});
