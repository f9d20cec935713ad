import type { IncomingMessage } from "node:http";
import type { Config } from "../../config.ts";
import { isOwnOrigin } from "./is-own-origin.ts";
import { readTarget } from "./read-target.ts";
import { type Refusal, refusal } from "./refusal.ts";
import { isExpectedHost, readHost } from "./request-host.ts";

/** A page does not learn its own path from Next; it needs it to lead back after signing in. */
const pathHeader = "x-dormouse-path";

export const isHealthPath = (path: string) => /^\/api\/health\/[a-z]+$/.test(path);

const noHost = refusal("invalid-input", "The Host header is missing, given twice or not valid.");
const fromElsewhere = refusal(
  "forbidden",
  "This request came from another site and was refused. If it came from Dormouse itself, whoever runs this server can set DORMOUSE_PUBLIC_URL to the address that the browser shows.",
);

export type CheckedRequest = { path: string; refused: Refusal | null };

/**
 * Looks at everything about a request but its body and who makes it: whether it was meant for this server, and whether
 * a page of another site is behind it. A browser says so by `Origin` and `Sec-Fetch-Site`, which no page can change;
 * programs send neither. Whoever reads the request further finds in it what was found here.
 */
export function createRequestCheck({ allowedHosts, publicUrl }: Pick<Config, "allowedHosts" | "publicUrl">) {
  return (request: IncomingMessage, { isUpgrade }: { isUpgrade: boolean }): CheckedRequest => {
    const { headers } = request;
    const { path, refused } = readTarget(request.url ?? "");
    if (refused) return { path, refused };
    const asked = readHost(request);
    if (!asked || !isExpectedHost(asked.name, allowedHosts)) {
      // Probes ask by whatever name their machine has for this one, and learn nothing but whether it lives.
      if (!isHealthPath(path)) return { path, refused: asked ? unexpected(asked.name) : noHost };
      headers.host = "localhost";
    }
    const host = asked?.host ?? "localhost";
    const scheme = /^https?$/.exec(String(headers["x-forwarded-proto"] ?? "").split(",")[0] ?? "")?.[0] ?? null;
    const isOwn = (origin: string) => isOwnOrigin(origin, { host, publicUrl, scheme });
    if (isForeign({ request, path, isUpgrade, isOwn })) return { path, refused: fromElsewhere };
    headers[pathHeader] = path;
    // Next compares it with the origin once more. What a proxy or a client said there was not checked.
    headers["x-forwarded-host"] = headers.origin && isOwn(headers.origin) ? new URL(headers.origin).host : host;
    return { path, refused: null };
  };
}

/** Pages may be led to from anywhere; everything else is for our own pages and for programs. */
function isForeign(options: {
  request: IncomingMessage;
  path: string;
  isUpgrade: boolean;
  isOwn: (origin: string) => boolean;
}): boolean {
  const { request, path, isUpgrade, isOwn } = options;
  const { origin, "sec-fetch-site": site = "none", "sec-fetch-mode": mode } = request.headers;
  const isApi = path === "/api" || path.startsWith("/api/");
  const isRead = !isUpgrade && ["GET", "HEAD", "OPTIONS"].includes(request.method ?? "");
  const isNavigation = isRead && !isApi && mode === "navigate";
  if (site !== "same-origin" && site !== "none" && !isNavigation) return true;
  return origin !== undefined && (isApi || !isRead) && !isOwn(origin);
}

function unexpected(name: string): Refusal {
  return refusal(
    "forbidden",
    `This server does not answer as ${name}. Whoever runs it can set DORMOUSE_PUBLIC_URL to its address, or add ${name} to DORMOUSE_ALLOWED_HOSTS.`,
  );
}
