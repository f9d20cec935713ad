import type { IncomingMessage, ServerResponse } from "node:http";
import { errorBody, faultError, statusOf } from "../errors.ts";

/** All but what is the same for everybody, and the probes, which say by themselves how it is. */
export function needsDatabase({ url = "/" }: IncomingMessage): boolean {
  return !url.startsWith("/_next/") && !url.startsWith("/api/health/");
}

/** At once, instead of a page that waits for the database and then for nothing. */
export function answerDatabaseAway(request: IncomingMessage, response: ServerResponse): void {
  const away = faultError("database-away");
  const isProgram = request.url?.startsWith("/api/") ?? false;
  const body = isProgram ? JSON.stringify(errorBody(away)) : `${away.message}\n`;
  response
    .writeHead(statusOf(away.kind), {
      "content-type": isProgram ? "application/json" : "text/plain; charset=utf-8",
      "retry-after": "2",
      "cache-control": "no-store",
    })
    .end(body);
}
