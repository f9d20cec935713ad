import type { ReactNode } from "react";
import { classNames } from "../ui/class-names.ts";
import { LinkTabs } from "../ui/tabs.tsx";

/** A group of pages under one title, each reached by its tab. */
export function TabbedPages(props: {
  title: string;
  tabs: { href: string; label: string }[];
  wide?: boolean;
  children: ReactNode;
}) {
  const { title, tabs, wide = false, children } = props;
  return (
    <div
      className={classNames(
        "mx-auto flex w-full flex-col gap-8 px-4 pt-8 pb-16 sm:px-8",
        wide ? "max-w-280" : "max-w-196",
      )}
    >
      <header className="flex flex-col gap-3">
        <h1 className="text-20">{title}</h1>
        <LinkTabs label={title} tabs={tabs} />
      </header>
      {children}
    </div>
  );
}
