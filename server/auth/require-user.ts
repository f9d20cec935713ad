import { cookies, headers } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { connection } from "next/server";
import { cache } from "react";
import { AppError } from "../errors.ts";
import { services } from "../services.ts";
import type { Viewer } from "./actor.ts";
import { readAuthSessionId } from "./read-sign-in.ts";

/** Looked up once a request. Null when nobody is signed in, or not any more. */
export const findUser = cache(async (): Promise<Viewer | null> => {
  // Who asks is known only when somebody does: such a page cannot be made ahead, by the build.
  await connection();
  const { admission, signInSecret } = services();
  const authSessionId = await readAuthSessionId(await readCookies(), signInSecret);
  return authSessionId ? admission.findViewer(authSessionId) : null;
});

async function readCookies(): Promise<Record<string, string>> {
  return Object.fromEntries((await cookies()).getAll().map(({ name, value }) => [name, value]));
}

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
