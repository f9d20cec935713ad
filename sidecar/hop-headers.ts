import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/** Of one connection only; a proxy never passes them on. */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "expect",
]);

/** The headers that a proxy may pass on, without those named and without our own signature's. */
export function endToEndHeaders(headers: IncomingHttpHeaders, without: readonly string[] = []): OutgoingHttpHeaders {
  const named = String(headers.connection ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) =>
        !hopByHop.has(name) && !name.startsWith("x-dormouse-") && !named.includes(name) && !without.includes(name),
    ),
  );
}
