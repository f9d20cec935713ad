"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import { classNames } from "./class-names.ts";

/** Pages side by side: each tab is an address of its own. */
export function LinkTabs({ label, tabs }: { label: string; tabs: { href: string; label: string }[] }) {
  const path = usePathname();
  return (
    <nav aria-label={label} className="flex gap-5 border-b border-line">
      {tabs.map((tab) => (
        <Link
          key={tab.href}
          href={tab.href}
          aria-current={path === tab.href ? "page" : undefined}
          className={classNames(
            "-mb-px flex h-10 items-center border-b-2 border-transparent text-13 font-medium text-muted transition-colors",
            "hover:text-ink aria-[current]:border-ink aria-[current]:text-ink",
          )}
        >
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
