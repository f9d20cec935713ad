import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { cache } from "react";
import { DemoRemark } from "@/components/session/demo-remark.tsx";
import { SessionView } from "@/components/session/session-view.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

interface SessionPageProps {
  params: Promise<{ sessionId: string }>;
}

const findSession = cache(async (sessionId: string) => services().sessions.find(await pageUser(), sessionId));

export async function generateMetadata({ params }: SessionPageProps): Promise<Metadata> {
  const session = await findSession((await params).sessionId);
  return { title: session?.title ?? "Not found" };
}

/** Rendered whole from the log; the browser goes on from its version, so that nothing flickers or comes twice. */
export default async function SessionPage({ params }: SessionPageProps) {
  const { sessionId } = await params;
  const viewer = await pageUser();
  const session = await findSession(sessionId);
  if (!session) notFound();
  const { log, models } = services();
  const written = await log.read({ actor: viewer, sessionId, after: 0 });
  const [state, { defaultModel }] = await Promise.all([log.state(viewer, sessionId), models.settings(viewer)]);
  if (!written) notFound();
  const initial = { version: written.version, entries: written.entries, session: state, gap: false };
  const remark = defaultModel ? null : <DemoRemark role={viewer.role} />;
  return <SessionView key={sessionId} sessionId={sessionId} title={session.title} initial={initial} remark={remark} />;
}
