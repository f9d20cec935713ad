import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { cache } from "react";
import { continueHere, wakeAhead } from "@/app/(sessions)/actions.ts";
import { DemoRemark } from "@/components/session/demo-remark.tsx";
import { SessionView } from "@/components/session/session-view.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import type { LogEntry, PageEntry } from "@/server/protocol/log-entry.ts";
import { services } from "@/server/services.ts";

interface SessionPageProps {
  params: Promise<{ sessionId: string }>;
}

const newestEntries = 100;

const findSession = cache(async (sessionId: string) => services().sessions.find(await pageUser(), sessionId));

export async function generateMetadata({ params }: SessionPageProps): Promise<Metadata> {
  const session = await findSession((await params).sessionId);
  return { title: session?.title ?? "Not found" };
}

/**
 * Rendered whole from the log where that fits into a page of it; the browser goes on from its version, so that nothing
 * flickers or comes twice. Of a longer log the newest entries are rendered, and the browser catches up from the beginning.
 */
export default async function SessionPage({ params }: SessionPageProps) {
  const { sessionId } = await params;
  const viewer = await pageUser();
  const session = await findSession(sessionId);
  if (!session) notFound();
  const { log, models } = services();
  const written = await log.read({ actor: viewer, sessionId, after: 0 });
  const newest = written?.more ? await log.page({ actor: viewer, sessionId, limit: newestEntries }) : null;
  const [state, { defaultModel }] = await Promise.all([log.state(viewer, sessionId), models.settings(viewer)]);
  if (!written) notFound();
  const { entries, version } = newest ? { entries: newest.entries.map(withoutCount), version: 0 } : written;
  const initial = { version, entries, session: state, gap: false };
  const remark = defaultModel ? null : <DemoRemark role={viewer.role} />;
  const props = { sessionId, title: session.title, initial, remark, continueHere, wakeAhead };
  return <SessionView key={sessionId} {...props} />;
}

/** The browser counts what it has been sent. */
function withoutCount({ children: _, ...entry }: PageEntry): LogEntry {
  return entry as LogEntry;
}
