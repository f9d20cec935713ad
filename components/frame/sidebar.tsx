"use client";

import { Settings, ShieldCheck } from "lucide-react";
import Link from "next/link";
import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import type { Role } from "@/server/protocol/roles.ts";
import { Mark } from "../mark.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { NewSessionButton } from "./new-session-button.tsx";
import { PersonMenu } from "./person-menu.tsx";
import { type ListedSession, SessionList } from "./session-list.tsx";

export interface SidebarProps {
  person: { name: string; email: string; tenantName: string; role: Role };
  sessions: ListedSession[];
  createSession: () => Promise<Outcome<{ sessionId: string }>>;
  signOut: () => Promise<Outcome>;
}

export function Sidebar({ person, sessions, createSession, signOut }: SidebarProps) {
  return (
    <aside aria-label="Sessions and settings" className="flex min-h-0 flex-1 flex-col">
      <div className="flex h-12 shrink-0 items-center px-4">
        <Link href="/" className="flex items-center gap-2 rounded-control text-15 font-semibold">
          <Mark className="size-5" />
          Dormouse
        </Link>
      </div>
      <div className="px-3 pt-1 pb-3">
        <NewSessionButton create={createSession} className="w-full" />
      </div>
      <SessionList sessions={sessions} />
      <div className="flex shrink-0 flex-col gap-0.5 border-t border-line p-2">
        <PageLink href="/settings/profile" within="/settings" icon={<Settings {...iconProps} />}>
          Settings
        </PageLink>
        {person.role === "admin" && (
          <PageLink href="/admin/sandboxes" within="/admin" icon={<ShieldCheck {...iconProps} />}>
            Admin
          </PageLink>
        )}
        <PersonMenu person={person} signOut={signOut} />
      </div>
    </aside>
  );
}

const iconProps = { "aria-hidden": true, className: "size-4 text-muted", strokeWidth: 1.75 } as const;

function PageLink(props: { href: string; within: string; icon: ReactNode; children: ReactNode }) {
  const { href, within, icon, children } = props;
  const path = usePathname();
  return (
    <Link
      href={href}
      aria-current={path.startsWith(within) ? "true" : undefined}
      className="flex h-8 items-center gap-2.5 rounded-control px-2 text-13 transition-colors hover:bg-ink/4 aria-[current]:bg-raised aria-[current]:font-medium pointer-coarse:h-10"
    >
      {icon}
      {children}
    </Link>
  );
}
