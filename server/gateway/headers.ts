import type { IncomingHttpHeaders } from "node:http";
import type { CallableProvider } from "./find-provider.ts";

// What is listed passes, nothing else: no cookie, no session id, no address, no organisation.
const toProvider = ["accept", "content-type", "content-length", "anthropic-version", "anthropic-beta", "openai-beta"];
const fromProvider =
  /^(content-type|cache-control|retry-after|retry-after-ms|x-should-retry|request-id|x-request-id|openai-processing-ms|(x|anthropic)-ratelimit-[a-z-]+)$/;

export function requestHeaders(headers: IncomingHttpHeaders, provider: CallableProvider): Record<string, string> {
  const passed = toProvider.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return {
    ...Object.fromEntries(passed),
    "user-agent": "dormouse",
    // The answer is searched for the key on its way; compressed, it could not be.
    "accept-encoding": "identity",
    ...authorization(provider),
  };
}

export function responseHeaders(headers: IncomingHttpHeaders, key: string | null): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (typeof value !== "string" || !fromProvider.test(name) || (key && value.includes(key))) return [];
      return [[name, value] as const];
    }),
  );
}

function authorization({ kind, key }: CallableProvider): Record<string, string> {
  if (!key) return {};
  return kind === "anthropic" ? { "x-api-key": key } : { authorization: `Bearer ${key}` };
}
