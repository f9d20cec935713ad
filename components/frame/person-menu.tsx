"use client";

import { ChevronsUpDown, LogOut, UserRound } from "lucide-react";
import { toast } from "sonner";
import { Menu, MenuItem, MenuLink, MenuSeparator } from "../ui/menu.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { Spinner } from "../ui/spinner.tsx";
import { useOutcome } from "../ui/use-outcome.ts";

interface PersonMenuProps {
  person: { name: string; email: string; tenantName: string };
  signOut: () => Promise<Outcome>;
}

export function PersonMenu({ person, signOut }: PersonMenuProps) {
  const { pending, run } = useOutcome();

  async function leave(): Promise<Outcome> {
    const outcome = await signOut();
    if (!outcome.ok) toast.error(outcome.message);
    return outcome;
  }

  return (
    <Menu
      triggerClassName="flex h-12 w-full items-center gap-2 rounded-control px-2 text-left transition-colors hover:bg-ink/5 data-popup-open:bg-ink/8"
      trigger={
        <>
          <span className="flex min-w-0 flex-1 flex-col">
            <span className="truncate text-13 font-medium">{person.name}</span>
            <span className="truncate text-12 text-muted">{person.tenantName}</span>
            <span className="sr-only">Profile and sign-out</span>
          </span>
          {pending ? <Spinner /> : <ChevronsUpDown {...icon} />}
        </>
      }
    >
      <p className="max-w-64 truncate px-2.5 py-1.5 text-12 text-muted">{person.email}</p>
      <MenuSeparator />
      <MenuLink href="/settings/profile" icon={<UserRound {...icon} />}>
        Profile
      </MenuLink>
      {/* A full load: nothing of this person may stay in the browser's memory of pages. */}
      <MenuItem icon={<LogOut {...icon} />} onClick={() => run(leave, () => window.location.assign("/sign-in"))}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

const icon = { "aria-hidden": true, className: "size-4 text-muted", strokeWidth: 1.75 } as const;
