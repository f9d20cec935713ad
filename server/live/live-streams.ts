import type { IncomingMessage, ServerResponse } from "node:http";
import type { Viewer } from "../auth/index.ts";
import { AppError, errorBody, statusOf, toReportedError } from "../errors.ts";
import { decodeCursor } from "../protocol/session-events.ts";
import type { Services } from "../services.ts";
import { followedSessions } from "../sessions/index.ts";
import { type EventFrame, toFollowedFrame, toFrame } from "./event-frames.ts";
import { streamEvents } from "./stream-events.ts";

/**
 * The streams of session events, served beside Next: each of their many small writes would otherwise pass through
 * streams of Next's own, for each viewer.
 */
export interface LiveStreams {
  /** True when the request was its own. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface LiveStreamsOptions
  extends Pick<Services, "admission" | "log" | "sessions" | "signInSecret" | "stopping" | "reportError"> {
  /** The auth session that the cookies name, if any. */
  readAuthSessionId(cookies: Record<string, string>, secret: string): Promise<string | null>;
}

type Frames = (signal: AbortSignal) => AsyncIterable<EventFrame>;

const followedPath = "/api/v1/events";
const sessionPath = /^\/api\/v1\/sessions\/([^/]+)\/events$/;

export function createLiveStreams(options: LiveStreamsOptions): LiveStreams {
  const { log, sessions, stopping, reportError } = options;

  async function answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    try {
      const viewer = await requireViewer(options, request);
      const [, sessionId] = sessionPath.exec(url.pathname) ?? [];
      const frames = sessionId
        ? await followOne({ request, url, viewer, sessionId })
        : followAll({ request, url, viewer });
      await streamEvents(response, { frames, stopping, onError: reportError });
    } catch (error) {
      const known = toReportedError(error, reportError);
      response.writeHead(statusOf(known.kind), { "content-type": "application/json" });
      response.end(JSON.stringify(errorBody(known)));
    }
  }

  /** Goes on after the version in `Last-Event-ID` or `after`. */
  async function followOne({ request, url, viewer, sessionId }: Following & { sessionId: string }): Promise<Frames> {
    if (!(await sessions.find(viewer, sessionId))) throw new AppError("not-found", "There is no such session.");
    const given = lastEventId(request, url) ?? "0";
    const after = /^\d{1,15}$/.test(given) ? Number(given) : 0;
    return async function* (signal) {
      for await (const event of log.follow({ actor: viewer, sessionId, after, signal })) yield toFrame(event);
    };
  }

  /**
   * The browser's one connection: every session in `follow`, each after its version in `Last-Event-ID` or `after`. 400
   * for more than `maxFollowedSessions`.
   */
  function followAll({ request, url, viewer }: Following): Frames {
    // Before the stream begins, so that too many are a refusal and not a broken stream.
    const sessionIds = followedSessions((url.searchParams.get("follow") ?? "").split(",").filter(Boolean));
    const cursor = decodeCursor(lastEventId(request, url));
    return async function* (signal) {
      for await (const event of log.followMany({ actor: viewer, sessionIds, cursor, signal })) {
        yield toFollowedFrame(event);
      }
    };
  }

  return {
    handle(request, response) {
      const path = (request.url ?? "").split("?")[0] ?? "";
      if (path !== followedPath && !sessionPath.test(path)) return false;
      if (request.method === "GET") void answer(request, response, new URL(request.url ?? "", "http://here.invalid"));
      else response.writeHead(405, { allow: "GET" }).end();
      return true;
    },
  };
}

interface Following {
  request: IncomingMessage;
  url: URL;
  viewer: Viewer;
}

async function requireViewer(options: LiveStreamsOptions, request: IncomingMessage): Promise<Viewer> {
  const { admission, signInSecret } = options;
  const authSessionId = await options.readAuthSessionId(readCookies(request.headers.cookie ?? ""), signInSecret);
  const viewer = authSessionId && (await admission.findViewer(authSessionId));
  if (!viewer) throw new AppError("unauthenticated", "Please sign in.");
  return viewer;
}

function readCookies(header: string): Record<string, string> {
  const pairs = header.split(";").map((pair) => {
    const [name = "", ...value] = pair.split("=");
    return [name.trim(), value.join("=").trim()] as const;
  });
  return Object.fromEntries(pairs);
}

function lastEventId(request: IncomingMessage, url: URL): string | null {
  const header = request.headers["last-event-id"];
  return typeof header === "string" ? header : url.searchParams.get("after");
}
