import { fileResponse } from "@/app/lib/file-response.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

/** A file's bytes, or a part of them; as a download where `download` is asked for. */
export const GET = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { searchParams } = new URL(request.url);
  const path = searchParams.get("path") ?? "";
  const range = request.headers.get("range");
  const file = await services().files.read(viewer, { sessionId, path, range, signal: request.signal });
  return fileResponse(file.body, {
    path,
    download: searchParams.has("download"),
    status: file.status,
    headers: {
      "accept-ranges": "bytes",
      ...(file.size !== null && { "content-length": String(file.size) }),
      ...(file.contentRange && { "content-range": file.contentRange }),
      ...(file.modifiedAt && { "last-modified": file.modifiedAt }),
    },
  });
});
