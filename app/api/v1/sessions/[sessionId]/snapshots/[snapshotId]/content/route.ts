import { Readable } from "node:stream";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** The whole snapshot as a download; the sandbox need not be awake. */
export const GET = route<{ sessionId: string; snapshotId: string }>(async (request, { sessionId, snapshotId }) => {
  const viewer = await requireUser();
  const input = { sessionId, snapshotId, signal: request.signal };
  const { body, bytes, createdAt } = await services().snapshots.read(viewer, input);
  const name = `workspace-${createdAt.toISOString().slice(0, 16).replaceAll(":", "")}.tar.gz`;
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, {
    headers: {
      "content-type": "application/gzip",
      "content-disposition": `attachment; filename="${name}"`,
      "content-length": String(bytes),
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
});
