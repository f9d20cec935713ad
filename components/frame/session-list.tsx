"use client";

import Link, { useLinkStatus } from "next/link";
import { usePathname } from "next/navigation";
import { Spinner } from "../ui/spinner.tsx";
import { Time } from "../ui/time.tsx";

export interface ListedSession {
  id: string;
  title: string;
  updatedAt: Date;
}

export function SessionList({ sessions }: { sessions: ListedSession[] }) {
  const path = usePathname();
  return (
    <nav aria-label="Sessions" className="min-h-0 flex-1 overflow-y-auto px-2 pb-3">
      <h2 className="px-2 pb-1.5 text-12 font-medium tracking-normal text-muted">Sessions</h2>
      {sessions.length === 0 && <p className="px-2 py-1 text-13 text-muted">No sessions yet.</p>}
      <ul className="flex flex-col gap-0.5">
        {sessions.map((session) => (
          <li key={session.id}>
            <Link
              href={`/sessions/${session.id}`}
              aria-current={path === `/sessions/${session.id}` ? "page" : undefined}
              className="flex h-8 items-center gap-2 rounded-control px-2 text-13 transition-colors hover:bg-ink/4 aria-[current]:bg-raised aria-[current]:font-medium pointer-coarse:h-10"
            >
              <span className="min-w-0 flex-1 truncate">{session.title}</span>
              <Recency at={session.updatedAt} />
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Gives way to a spinner while a slow page is on its way. */
function Recency({ at }: { at: Date }) {
  const { pending } = useLinkStatus();
  if (pending) return <Spinner className="text-muted" />;
  return <Time at={at} className="shrink-0 text-12 font-normal text-muted tabular-nums" />;
}
