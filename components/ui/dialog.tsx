"use client";

import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClasses } from "./button.tsx";
import { classNames } from "./class-names.ts";

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  children: ReactNode;
}

export const backdropClasses =
  "fixed inset-0 bg-scrim transition-opacity data-starting-style:opacity-0 data-ending-style:opacity-0";

export const popupClasses = classNames(
  "fixed top-1/2 left-1/2 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col",
  "overflow-y-auto rounded-card border border-line bg-raised text-ink outline-none transition-[opacity,scale]",
  "data-starting-style:scale-98 data-starting-style:opacity-0 data-ending-style:scale-98 data-ending-style:opacity-0",
);

export function Dialog({ open, onOpenChange, title, description, children }: DialogProps) {
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => onOpenChange(next)}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={backdropClasses} />
        <BaseDialog.Popup className={classNames(popupClasses, "max-w-120 gap-5 p-6")}>
          <div className="flex flex-col gap-1 pr-8">
            <BaseDialog.Title className="text-20">{title}</BaseDialog.Title>
            {description && (
              <BaseDialog.Description className="text-13 text-muted">{description}</BaseDialog.Description>
            )}
          </div>
          {children}
          {/* Last in the order of focus, so that a dialog opens on its first field. */}
          <BaseDialog.Close
            aria-label="Close"
            className={classNames(buttonClasses({ look: "quiet", size: "icon" }), "absolute top-4 right-4")}
          >
            <X aria-hidden="true" className="size-4" />
          </BaseDialog.Close>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

/** A panel from the left edge, for what has its own column on wide screens. */
export function Sheet({ open, onOpenChange, title, children }: Omit<DialogProps, "description">) {
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => onOpenChange(next)}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={backdropClasses} />
        <BaseDialog.Popup
          className={classNames(
            "fixed inset-y-0 left-0 flex w-[min(304px,calc(100vw-48px))] flex-col border-r border-line bg-panel text-ink outline-none",
            "transition-transform data-starting-style:-translate-x-full data-ending-style:-translate-x-full",
          )}
        >
          <BaseDialog.Title className="sr-only">{title}</BaseDialog.Title>
          {children}
          <BaseDialog.Close
            aria-label="Close"
            className={classNames(buttonClasses({ look: "quiet", size: "icon" }), "absolute top-2 right-2")}
          >
            <X aria-hidden="true" className="size-4" />
          </BaseDialog.Close>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}
