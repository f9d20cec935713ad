"use client";

import { Popover as BasePopover } from "@base-ui/react/popover";
import type { ReactNode } from "react";

/** A few words more about what its trigger says; by mouse, finger or keyboard. */
export function Popover(props: { trigger: ReactNode; triggerClassName?: string; title: string; children: ReactNode }) {
  const { trigger, triggerClassName, title, children } = props;
  return (
    <BasePopover.Root>
      <BasePopover.Trigger className={triggerClassName}>{trigger}</BasePopover.Trigger>
      <BasePopover.Portal>
        <BasePopover.Positioner sideOffset={6} align="start" side="top" className="z-10">
          <BasePopover.Popup className="flex max-w-80 flex-col gap-1 rounded-card border border-line bg-raised p-3 text-13 text-muted outline-none transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0">
            <BasePopover.Title className="font-semibold text-ink">{title}</BasePopover.Title>
            {children}
          </BasePopover.Popup>
        </BasePopover.Positioner>
      </BasePopover.Portal>
    </BasePopover.Root>
  );
}
