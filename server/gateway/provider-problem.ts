import type { Problem } from "./answer-problem.ts";
import type { CallableProvider } from "./find-provider.ts";

const check = "Check its address in Settings → Models";
const brokeOff = `broke off the connection. Try again in a moment. If this goes on, check its address in Settings → Models.`;

/** Why a provider could not be asked, and what to do about it. Built from the error's code alone: texts may hold more. */
export function providerProblem(provider: CallableProvider, code: string): Problem {
  const { host } = new URL(provider.baseUrl);
  const who = `The provider “${provider.name}” (${host})`;
  const timeouts: Record<string, string> = {
    UND_ERR_CONNECT_TIMEOUT: `could not be reached within 10 seconds. ${check} and this server's network.`,
    ETIMEDOUT: `could not be reached in time. ${check} and this server's network.`,
    UND_ERR_HEADERS_TIMEOUT: "did not begin to answer within 5 minutes. Try again, or choose another model.",
    UND_ERR_BODY_TIMEOUT: "stopped in the middle of its answer for 5 minutes. Try again, or choose another model.",
  };
  if (timeouts[code]) {
    return { status: 504, message: `${who} ${timeouts[code]}`, type: "timeout_error", code: "provider_timeout" };
  }
  const reasons: Record<string, string> = {
    ECONNREFUSED: `is not running: the connection was refused. ${check}, and that it has been started.`,
    ENOTFOUND: `was not found: its name is unknown here. ${check} and this server's DNS.`,
    EAI_AGAIN: `was not found: the name service does not answer. Check this server's DNS.`,
    ECONNRESET: brokeOff,
    EPIPE: brokeOff,
    UND_ERR_SOCKET: brokeOff,
    redirect: `answered with a redirect, which is not followed: it would carry the key elsewhere. ${check}.`,
  };
  const secure = /CERT|TLS|SSL|SELF_SIGNED/.test(code)
    ? `could not prove its identity. ${check} and its certificate.`
    : undefined;
  const message = reasons[code] ?? secure ?? `cannot be reached. ${check} and this server's network.`;
  return { status: 502, message: `${who} ${message}`, type: "upstream_error", code: "provider_unreachable" };
}

/** undici and Node put it on the error or on its cause; an AggregateError has it on each of its parts. */
export function errorCode(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = (at as { code?: unknown }).code;
    if (typeof code === "string" && /^[A-Z0-9_]{2,60}$/.test(code)) return code;
    if (at instanceof AggregateError && at.errors.length > 0) return errorCode(at.errors[0]);
  }
  return "unknown";
}
