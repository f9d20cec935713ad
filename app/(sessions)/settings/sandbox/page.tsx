import type { Metadata } from "next";
import { SandboxSettings } from "@/components/settings/sandbox/sandbox-settings.tsx";
import { Section } from "@/components/ui/section.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { configureOwn, requestOwn } from "./actions.ts";

export const metadata: Metadata = { title: "Sandbox" };

export default async function SandboxPage() {
  const viewer = await pageUser();
  const { sandboxes } = services();
  const [own, idleMinutes] = await Promise.all([sandboxes.list(viewer, "own"), sandboxes.idleLimit(viewer)]);
  return (
    <Section
      title={own.length > 1 ? "Your sandboxes" : "Your sandbox"}
      description="Where your agent works. It sleeps when nobody uses it and wakes when you write, with its memory and files."
    >
      <SandboxSettings sandboxes={own} tenantIdleMinutes={idleMinutes} request={requestOwn} configure={configureOwn} />
    </Section>
  );
}
