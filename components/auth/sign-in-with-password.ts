"use client";

import { signIn } from "next-auth/react";
import type { Outcome } from "../ui/outcome.ts";

/** next-auth answers with a code for a wrong pair and with our own sentence for everything else. */
export async function signInWithPassword(pair: { email: string; password: string }): Promise<Outcome> {
  const answer = await signIn("credentials", { ...pair, redirect: false });
  if (answer?.ok && !answer.error) return { ok: true };
  if (!answer?.error || answer.error === "CredentialsSignin") {
    return { ok: false, message: "Email or password is wrong." };
  }
  return { ok: false, message: answer.error };
}

/** A full load: what the browser remembers of pages belongs to whoever was here before. */
export function goTo(path: string): void {
  window.location.assign(path);
}
