import { route } from "@/app/lib/route-handler.ts";
import { sseResponse, toFollowedFrame } from "@/app/lib/sse.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { decodeCursor } from "@/server/protocol/session-events.ts";
import { services } from "@/server/services.ts";
import { followedSessions } from "@/server/sessions/index.ts";

/**
 * The browser's one connection: every session in `follow`, each after its version in `Last-Event-ID` or `after`. 400
 * for more than `maxFollowedSessions`.
 */
export const GET = route(async (request) => {
  const viewer = await requireUser();
  const { log, stopping, reportError } = services();
  const { searchParams } = new URL(request.url);
  // Before the stream begins, so that too many are a refusal and not a broken stream.
  const sessionIds = followedSessions((searchParams.get("follow") ?? "").split(",").filter(Boolean));
  const cursor = decodeCursor(request.headers.get("last-event-id") ?? searchParams.get("after"));
  return sseResponse({
    viewer: request.signal,
    stopping,
    onError: reportError,
    async *makeFrames(signal) {
      for await (const { event, sessionId, cursor: id } of log.followMany({
        actor: viewer,
        sessionIds,
        cursor,
        signal,
      })) {
        yield toFollowedFrame(event, sessionId, id);
      }
    },
  });
});
