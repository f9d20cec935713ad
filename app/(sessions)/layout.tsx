import type { ReactNode } from "react";
import { AppFrame } from "@/components/frame/app-frame.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { createSession, signOut } from "./actions.ts";

// Who is signed in is known per request only.
export const dynamic = "force-dynamic";

// A layout is kept while people move between pages, so it guards nothing: each page asks for the person itself.
export default async function FrameLayout({ children }: { children: ReactNode }) {
  const viewer = await pageUser();
  const { name, email, tenantName, role } = viewer;
  const sessions = await services().sessions.list(viewer);
  return (
    <AppFrame
      person={{ name, email, tenantName, role }}
      sessions={sessions.map(({ id, title, updatedAt }) => ({ id, title, updatedAt }))}
      createSession={createSession}
      signOut={signOut}
    >
      {children}
    </AppFrame>
  );
}
