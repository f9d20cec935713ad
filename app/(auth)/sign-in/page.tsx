import type { Metadata } from "next";
import { cookies } from "next/headers";
import { redirect } from "next/navigation";
import { safePath } from "@/app/lib/safe-path.ts";
import { signInCookies } from "@/app/lib/sign-in-cookies.ts";
import { AuthPage } from "@/components/auth/auth-page.tsx";
import { SignInForm } from "@/components/auth/sign-in-form.tsx";
import { Notice } from "@/components/ui/notice.tsx";
import { findUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const metadata: Metadata = { title: "Sign in" };

export default async function SignInPage({ searchParams }: { searchParams: Promise<{ next?: string | string[] }> }) {
  const next = safePath((await searchParams).next);
  if (await findUser()) redirect(next);
  if (await services().accounts.firstRun()) redirect("/first-run");
  const jar = await cookies();
  const ended = signInCookies.some(({ name }) => jar.has(name));

  return (
    <AuthPage title="Sign in">
      {ended && <Notice tone="asleep">You have been signed out. Sign in again to continue where you left off.</Notice>}
      <SignInForm next={next} />
      <p className="text-12 text-muted">
        Forgotten your password? Whoever runs this server can set a new one with{" "}
        <code className="font-mono whitespace-nowrap text-ink">npm run reset-password</code>.
      </p>
    </AuthPage>
  );
}
