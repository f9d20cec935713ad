import type { Metadata } from "next";
import Link from "next/link";
import { AuthPage } from "@/components/auth/auth-page.tsx";
import { InviteForm } from "@/components/auth/invite-form.tsx";
import { buttonClasses } from "@/components/ui/button.tsx";
import { Notice } from "@/components/ui/notice.tsx";
import { findUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { acceptInvite } from "../../actions.ts";

export const metadata: Metadata = { title: "Invite" };

const endings = {
  used: "This invite was already used",
  expired: "This invite has expired",
  revoked: "This invite was revoked",
  unknown: "This invite does not exist",
} as const;

export default async function InvitePage({ params }: { params: Promise<{ token: string }> }) {
  const { token } = await params;
  const invite = await services().accounts.findInvite(token);
  if (invite?.state !== "open") return <InviteOver state={invite?.state ?? "unknown"} />;
  const viewer = await findUser();

  return (
    <AuthPage
      title={`Join ${invite.tenantName}`}
      lead={invite.role === "admin" ? "You have been invited as an admin." : "Create your account to start working."}
    >
      {viewer && (
        <Notice>
          You are signed in as {viewer.email}. Accepting this invite creates another account and signs you in to it.
        </Notice>
      )}
      <InviteForm token={token} accept={acceptInvite} />
    </AuthPage>
  );
}

function InviteOver({ state }: { state: keyof typeof endings }) {
  const lead =
    state === "used"
      ? "An invite works only once. If you used it, sign in; otherwise ask an admin for a new one."
      : "Check that the link is complete, or ask an admin for a new one.";
  return (
    <AuthPage title={endings[state]} lead={lead}>
      <Link href="/sign-in" className={buttonClasses({ look: "primary", size: "large" })}>
        Go to sign-in
      </Link>
    </AuthPage>
  );
}
