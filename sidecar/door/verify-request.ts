import type { KeyObject } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  isSignatureOf,
  signatureHeaders,
  signatureLifetimeMilliseconds,
} from "../../server/protocol/request-signature.ts";
import { supersededCode } from "../../server/protocol/sidecar.ts";
import { Problem } from "../sidecar-problem.ts";

export interface RequestVerifier {
  /**
   * Throws `unauthenticated` unless the server signed exactly this request for this sandbox and
   * boot, within 60 s, and for the first time; `conflict` for a server whose lease was taken over. The
   * body still has to match the hash that it returns.
   */
  verify(request: { method: string; path: string; headers: IncomingHttpHeaders }): { bodyHash: string };
}

export interface RequestVerifierOptions {
  sandboxId: string;
  bootId: string;
  publicKey: KeyObject;
  /** The server is there. */
  onSigned?: () => void;
  /** Another server has taken over the sandbox. */
  onTakenOver?: () => void;
  now?: () => number;
  maxNonces?: number;
}

const noncePattern = /^[A-Za-z0-9_-]{16,128}$/;

export function findNonce(headers: IncomingHttpHeaders): string | null {
  const nonce = headers[signatureHeaders.nonce];
  return typeof nonce === "string" && noncePattern.test(nonce) ? nonce : null;
}

export function createRequestVerifier(options: RequestVerifierOptions): RequestVerifier {
  const { sandboxId, bootId, publicKey, onSigned, onTakenOver, now = Date.now, maxNonces = 200_000 } = options;
  // Only nonces of well-signed requests get in, in the order of their arrival, which is nearly that of their end.
  const seen = new Map<string, number>();
  let highestEpoch = 0;

  function dropExpired(time: number): void {
    for (const [nonce, until] of seen) {
      if (until > time) return;
      seen.delete(nonce);
    }
  }

  function remember(nonce: string, time: number): void {
    dropExpired(time);
    if (seen.has(nonce)) throw refusal("it was used before");
    if (seen.size >= maxNonces) throw new Problem("limit-exceeded", "Too many requests within a minute.");
    // A request of a clock that is ahead stays valid for two lifetimes from now.
    seen.set(nonce, time + 2 * signatureLifetimeMilliseconds);
  }

  /** Epochs only rise: what a server sends that was paused, or cut off from the database, comes too late. */
  function fence(epoch: number): void {
    if (epoch < highestEpoch) {
      throw new Problem("conflict", "Another server has taken over this sandbox.", { code: supersededCode });
    }
    if (epoch === highestEpoch) return;
    const isTakeover = highestEpoch > 0;
    highestEpoch = epoch;
    if (isTakeover) onTakenOver?.();
  }

  return {
    verify({ method, path, headers }) {
      const signature = headers[signatureHeaders.signature];
      const bodyHash = headers[signatureHeaders.bodyHash];
      const nonce = findNonce(headers);
      const issuedAt = Number(headers[signatureHeaders.issuedAt]);
      const leaseEpoch = Number(headers[signatureHeaders.leaseEpoch] ?? 0);
      const numbers = [issuedAt, leaseEpoch].every((number) => Number.isSafeInteger(number) && number >= 0);
      if (typeof signature !== "string" || typeof bodyHash !== "string" || !nonce || !numbers) {
        throw refusal("it has none, or a part of it is missing");
      }
      const time = now();
      if (Math.abs(time - issuedAt) > signatureLifetimeMilliseconds) {
        throw refusal("it is older than 60 s, or the clocks of server and sandbox differ");
      }
      const signed = { sandboxId, bootId, leaseEpoch, method, path, issuedAt, nonce, bodyHash };
      if (!isSignatureOf(signed, signature, publicKey)) {
        throw refusal("it is not the server's for this sandbox, boot, method, path and body");
      }
      remember(nonce, time);
      fence(leaseEpoch);
      onSigned?.();
      return { bodyHash };
    },
  };
}

function refusal(reason: string): Problem {
  return new Problem("unauthenticated", `The request's signature was refused: ${reason}.`);
}
