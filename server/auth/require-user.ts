import { cookies, headers } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { connection } from "next/server";
import { decode, getToken } from "next-auth/jwt";
import { cache } from "react";
import { AppError } from "../errors.ts";
import { services } from "../services.ts";
import type { Viewer } from "./actor.ts";

/** Looked up once a request. Null when nobody is signed in, or not any more. */
export const findUser = cache(async (): Promise<Viewer | null> => {
  // Who asks is known only when somebody does: such a page cannot be made ahead, by the build.
  await connection();
  const authSessionId = await readAuthSessionId();
  return authSessionId ? services().admission.findViewer(authSessionId) : null;
});

/** Only reads the cookie: next-auth's own session would also be made anew, encrypted and thrown away, on each request. */
async function readAuthSessionId(): Promise<string | null> {
  const given = Object.fromEntries((await cookies()).getAll().map(({ name, value }) => [name, value]));
  const request = { cookies: given, headers: {} } as Parameters<typeof getToken>[0]["req"];
  const secret = services().signInSecret;
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

/** For routes and actions. */
export async function requireUser(): Promise<Viewer> {
  const viewer = await findUser();
  if (!viewer) throw new AppError("unauthenticated", "Please sign in.");
  return viewer;
}

export async function requireAdmin(): Promise<Viewer> {
  const viewer = await requireUser();
  if (viewer.role !== "admin") throw new AppError("forbidden", "Only an admin may do that.");
  return viewer;
}

/** For pages: leads to where the person can go on instead of failing. */
export async function pageUser(): Promise<Viewer> {
  const viewer = await findUser();
  if (viewer) return viewer;
  if (await services().accounts.firstRun()) redirect("/first-run");
  const path = (await headers()).get("x-dormouse-path");
  redirect(path && path !== "/" ? `/sign-in?next=${encodeURIComponent(path)}` : "/sign-in");
}

/** Somebody who is no admin is not told that the page exists. */
export async function pageAdmin(): Promise<Viewer> {
  const viewer = await pageUser();
  if (viewer.role !== "admin") notFound();
  return viewer;
}
