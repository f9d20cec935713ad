import { Readable } from "node:stream";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/**
 * A file's bytes, or a part of them. What an agent wrote must never run in this origin: it is sent as
 * plain bytes, and as a download where `download` is asked for.
 */
export const GET = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { searchParams } = new URL(request.url);
  const path = searchParams.get("path") ?? "";
  const range = request.headers.get("range");
  const file = await services().files.read(viewer, { sessionId, path, range, signal: request.signal });
  const name = encodeURIComponent(path.split("/").at(-1) || "file");
  return new Response(Readable.toWeb(file.body) as ReadableStream<Uint8Array>, {
    status: file.status,
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `${searchParams.has("download") ? "attachment" : "inline"}; filename*=UTF-8''${name}`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "accept-ranges": "bytes",
      ...(file.size !== null && { "content-length": String(file.size) }),
      ...(file.contentRange && { "content-range": file.contentRange }),
      ...(file.modifiedAt && { "last-modified": file.modifiedAt }),
    },
  });
});
