import { fileResponse } from "@/app/lib/file-response.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** One file of the snapshot, by its path as listed; the sandbox need not be awake. */
export const GET = route<{ sessionId: string; snapshotId: string }>(async (request, { sessionId, snapshotId }) => {
  const viewer = await requireUser();
  const { searchParams } = new URL(request.url);
  const path = searchParams.get("path") ?? "";
  const input = { sessionId, snapshotId, path, signal: request.signal };
  const { body, size, modifiedAt } = await services().snapshots.readFile(viewer, input);
  return fileResponse(body, {
    path,
    download: searchParams.has("download"),
    headers: { "content-length": String(size), "last-modified": modifiedAt.toUTCString() },
  });
});
