import { route } from "@/app/lib/route-handler.ts";
import { sseResponse, toFrame } from "@/app/lib/sse.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

/** Goes on after the version in `Last-Event-ID` or `after`. */
export const GET = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { log, sessions, stopping, reportError } = services();
  if (!(await sessions.find(viewer, sessionId))) throw new AppError("not-found", "There is no such session.");
  const given = request.headers.get("last-event-id") ?? new URL(request.url).searchParams.get("after") ?? "0";
  const after = /^\d{1,15}$/.test(given) ? Number(given) : 0;
  return sseResponse({
    viewer: request.signal,
    stopping,
    onError: reportError,
    async *makeFrames(signal) {
      for await (const event of log.follow({ actor: viewer, sessionId, after, signal })) yield toFrame(event);
    },
  });
});
