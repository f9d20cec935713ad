import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Database } from "../../db/client.ts";
import type { CauseName } from "../protocol/causes.ts";
import type { SandboxCaller } from "./index.ts";

/** A revoked or expired token works for this much longer at most. */
export const callerCacheMilliseconds = 5_000;
const maxCached = 2_000;

export type AccessRefusal = Extract<CauseName, `access-${string}`>;

export interface Callers {
  /** Null when no valid sandbox token was shown. */
  find(headers: IncomingHttpHeaders): Promise<SandboxCaller | null>;
  /** Why `find` found nobody. */
  refusal(headers: IncomingHttpHeaders): Promise<AccessRefusal>;
}

/**
 * Who calls, by the sandbox token. Only found callers are remembered, and briefly: a turn makes many
 * calls in a row, while a revocation has to be felt. Concurrent look-ups of one token share a query.
 */
export function createCallers({ database }: { database: Database }): Callers {
  const cached = new Map<string, { found: Promise<SandboxCaller | null>; until: number }>();

  async function lookUp(hash: string): Promise<SandboxCaller | null> {
    const [caller] = await database.call<SandboxCaller>(
      'select tenant_id as "tenantId", user_id as "userId", sandbox_id as "sandboxId" from find_sandbox_token($1)',
      [hash],
      { repeatable: true },
    );
    return caller ?? null;
  }

  return {
    async refusal(headers) {
      const hash = hashOfToken(headers);
      if (!hash) return "access-ended";
      const [row] = await database.call<{ refusal: AccessRefusal | null }>(
        "select sandbox_token_refusal($1) as refusal",
        [hash],
      );
      return row?.refusal ?? "access-ended";
    },
    async find(headers) {
      const hash = hashOfToken(headers);
      if (!hash) return null;
      const known = cached.get(hash);
      if (known && known.until > performance.now()) return known.found;
      const found = lookUp(hash);
      cached.delete(hash);
      cached.set(hash, { found, until: performance.now() + callerCacheMilliseconds });
      forgetOldest(cached);
      const forget = () => cached.get(hash)?.found === found && cached.delete(hash);
      return found.then(
        (caller) => {
          if (!caller) forget();
          return caller;
        },
        (error: unknown) => {
          forget();
          throw error;
        },
      );
    },
  };
}

function hashOfToken(headers: IncomingHttpHeaders): string | null {
  const token = bearerToken(headers);
  return token && createHash("sha256").update(token).digest("hex");
}

/** CONNECT carries it as a proxy's credentials, everything else as its own. */
function bearerToken(headers: IncomingHttpHeaders): string | null {
  const value = headers["proxy-authorization"] ?? headers.authorization;
  return /^Bearer ([\x21-\x7e]{1,500})$/i.exec(value ?? "")?.[1] ?? null;
}

function forgetOldest(cached: Map<string, unknown>): void {
  const oldest = cached.size > maxCached ? cached.keys().next().value : undefined;
  if (oldest !== undefined) cached.delete(oldest);
}
