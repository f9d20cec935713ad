import { decode, getToken } from "next-auth/jwt";

/**
 * The auth session that a cookie names; null without one that we sealed. Only reads it: next-auth's own session
 * would also be made anew, encrypted and thrown away, on each request.
 */
export async function readAuthSessionId(cookies: Record<string, string>, secret: string): Promise<string | null> {
  const request = { cookies, headers: {} } as Parameters<typeof getToken>[0]["req"];
  const sealed = await getToken({ req: request, secret, raw: true });
  const known = sealed && opened.get(sealed);
  if (known && known.until > Date.now()) return known.authSessionId;
  const token = sealed ? await decode({ token: sealed, secret }).catch(() => null) : null;
  if (!sealed || typeof token?.sid !== "string" || token.sid === "") return null;
  opened.set(sealed, { authSessionId: token.sid, until: Number(token.exp ?? 0) * 1000 });
  const oldest = opened.size > maxOpened ? opened.keys().next().value : undefined;
  if (oldest !== undefined) opened.delete(oldest);
  return token.sid;
}

/** What a cookie says never changes; what it is worth is looked up each time. Opening one costs more than the rest. */
const opened = new Map<string, { authSessionId: string; until: number }>();
const maxOpened = 1_000;
