"use client";

import { PanelLeft } from "lucide-react";
import { usePathname } from "next/navigation";
import { type ReactNode, useEffect, useState } from "react";
import { Mark } from "../mark.tsx";
import { Button } from "../ui/button.tsx";
import { Sheet } from "../ui/dialog.tsx";
import { Sidebar, type SidebarProps } from "./sidebar.tsx";

/** Everything signed in stands in this frame: the session list beside the page, or behind a button where it is narrow. */
export function AppFrame({ children, ...sidebar }: SidebarProps & { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const path = usePathname();

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the sheet that led to it
  useEffect(() => setOpen(false), [path]);

  return (
    <div className="page-root flex min-h-dvh">
      <a
        href="#main"
        className="sr-only z-10 rounded-control bg-ink px-3 py-2 text-13 text-bg focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <div className="sticky top-0 hidden h-dvh w-62 shrink-0 flex-col border-r border-line bg-panel lg:flex">
        <Sidebar {...sidebar} />
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-1 flex h-12 shrink-0 items-center gap-1 border-b border-line bg-bg px-2 lg:hidden">
          <Button look="quiet" size="icon" aria-label="Open the session list" onClick={() => setOpen(true)}>
            <PanelLeft aria-hidden="true" className="size-4.5" strokeWidth={1.75} />
          </Button>
          <span className="flex items-center gap-2 text-15 font-semibold">
            <Mark className="size-5" />
            Dormouse
          </span>
        </header>
        <main id="main" className="flex min-w-0 flex-1 flex-col">
          {children}
        </main>
      </div>
      <Sheet open={open} onOpenChange={setOpen} title="Sessions and settings">
        <Sidebar {...sidebar} />
      </Sheet>
    </div>
  );
}
