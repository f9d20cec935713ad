"use client";

import { Menu as BaseMenu } from "@base-ui/react/menu";
import Link from "next/link";
import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

export function Menu(props: { trigger: ReactNode; triggerClassName?: string; children: ReactNode }) {
  const { trigger, triggerClassName, children } = props;
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger className={triggerClassName}>{trigger}</BaseMenu.Trigger>
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={6} align="start" side="top" className="z-10 outline-none">
          <BaseMenu.Popup className="min-w-56 rounded-card border border-line bg-raised p-1 text-13 text-ink outline-none transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0">
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

const itemClasses = classNames(
  "flex h-8 items-center gap-2.5 rounded-control px-2.5 outline-none select-none pointer-coarse:h-10",
  "data-highlighted:bg-ink/8 data-disabled:text-muted data-disabled:opacity-70",
);

export function MenuLink({ href, icon, children }: { href: string; icon: ReactNode; children: ReactNode }) {
  return (
    <BaseMenu.Item className={itemClasses} render={<Link href={href} />}>
      {icon}
      {children}
    </BaseMenu.Item>
  );
}

export function MenuItem(props: {
  onClick: () => void;
  icon?: ReactNode;
  /** Why it cannot be chosen now. */
  refusal?: string | null;
  children: ReactNode;
}) {
  const { onClick, icon, refusal = null, children } = props;
  return (
    <BaseMenu.Item className={itemClasses} disabled={refusal !== null} title={refusal ?? undefined} onClick={onClick}>
      {icon}
      {children}
    </BaseMenu.Item>
  );
}

export function MenuSeparator() {
  return <BaseMenu.Separator className="my-1 h-px bg-line" />;
}
