"use server";

import { cookies } from "next/headers";
import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { signInCookies } from "@/app/lib/sign-in-cookies.ts";
import { findUser, requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const createSession = action({
  input: z.void(),
  run: async () => {
    const session = await services().sessions.create(await requireUser());
    return { sessionId: session.id };
  },
});

/** Changes made since the newest snapshot stay on the machine that is away: the page has asked. */
export const continueHere = action({
  input: z.object({ sessionId: z.string() }),
  refresh: false,
  run: async ({ sessionId }) => {
    await services().turns.continueHere(await requireUser(), sessionId);
  },
});

/** Somebody writes in a session whose sandbox is not awake. */
export const wakeAhead = action({
  input: z.object({ sessionId: z.string() }),
  refresh: false,
  run: async ({ sessionId }) => services().sandboxes.wakeAhead(await requireUser(), sessionId),
});

/** Ends the auth session, not only the cookie: a copy of the cookie is worth nothing afterwards. */
export const signOut = action({
  input: z.void(),
  refresh: false,
  run: async () => {
    const viewer = await findUser();
    if (viewer) await services().admission.signOut(viewer);
    const jar = await cookies();
    for (const { name, secure } of signInCookies) {
      if (jar.has(name)) jar.set(name, "", { path: "/", httpOnly: true, sameSite: "lax", secure, maxAge: 0 });
    }
  },
});
