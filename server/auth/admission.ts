import type { Viewer } from "./actor.ts";

export interface SignInAttempt {
  email: string;
  password: string;
  /** The real client address, as main.ts worked it out. */
  clientAddress: string;
  userAgent: string;
}

/** Who may come in: sign-in, the check on each request, and the end of a sign-in. */
export interface Admission {
  /**
   * Resolves to the id of a new auth session. Throws `unauthenticated` for a wrong pair or a
   * disabled person (same message), `limit-exceeded` with the waiting time in its message.
   */
  signIn(attempt: SignInAttempt): Promise<string>;
  /** Null when the auth session is unknown, expired, revoked, or its person is disabled. */
  findViewer(authSessionId: string): Promise<Viewer | null>;
  /** Idempotent. */
  signOut(viewer: Viewer): Promise<void>;
}
