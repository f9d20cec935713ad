import type { NextAuthOptions } from "next-auth";
import CredentialsProvider from "next-auth/providers/credentials";
import { z } from "zod";
import { isAppError } from "../errors.ts";
import { services } from "../services.ts";
import { clientAddress } from "./client-address.ts";

declare module "next-auth" {
  interface Session {
    authSessionId?: string;
  }
}

const credentials = z.object({ email: z.string().max(320), password: z.string().max(1_000) });

/**
 * The cookie holds the id of an auth session and nothing else about the person: what it is worth
 * is looked up on each request, so that revoking works at once. A function, since the secret is
 * known only after the start.
 */
export function authOptions(): NextAuthOptions {
  return {
    secret: services().signInSecret,
    session: { strategy: "jwt", maxAge: 30 * 86_400 },
    pages: { signIn: "/sign-in", error: "/sign-in" },
    providers: [
      CredentialsProvider({
        credentials: { email: {}, password: {} },
        async authorize(input, request) {
          const parsed = credentials.safeParse(input);
          if (!parsed.success) return null;
          const headers = new Headers(request.headers as Record<string, string> | undefined);
          try {
            const id = await services().admission.signIn({
              ...parsed.data,
              clientAddress: clientAddress(headers),
              userAgent: headers.get("user-agent") ?? "",
            });
            return { id };
          } catch (error) {
            if (!isAppError(error)) {
              const reference = services().reportError(error);
              throw new Error(`Sign-in failed. Reference ${reference}.`);
            }
            if (error.kind === "unauthenticated") return null;
            throw new Error(error.message);
          }
        },
      }),
    ],
    callbacks: {
      jwt: ({ token, user }) => ({ sid: user ? user.id : token.sid }),
      session: ({ session, token }) => ({ expires: session.expires, authSessionId: String(token.sid ?? "") }),
    },
  };
}
