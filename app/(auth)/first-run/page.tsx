import type { Metadata } from "next";
import Link from "next/link";
import { AuthPage } from "@/components/auth/auth-page.tsx";
import { FirstRunForm } from "@/components/auth/first-run-form.tsx";
import { buttonClasses } from "@/components/ui/button.tsx";
import { services } from "@/server/services.ts";
import { completeFirstRun } from "../actions.ts";

export const metadata: Metadata = { title: "Set up" };

export default async function FirstRunPage() {
  const firstRun = await services().accounts.firstRun();
  if (!firstRun) {
    return (
      <AuthPage
        title="Dormouse is already set up"
        lead="The first account exists. Sign in with yours, or ask an admin for an invite."
      >
        <Link href="/sign-in" className={buttonClasses({ look: "primary", size: "large" })}>
          Go to sign-in
        </Link>
      </AuthPage>
    );
  }
  return (
    <AuthPage title="Welcome to Dormouse" lead="Create the first account. It will be the admin of this server.">
      <FirstRunForm {...firstRun} complete={completeFirstRun} />
    </AuthPage>
  );
}
