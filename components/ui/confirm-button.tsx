"use client";

import { AlertDialog } from "@base-ui/react/alert-dialog";
import { type ReactNode, useRef, useState } from "react";
import { Button, type ButtonLook, buttonClasses } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { backdropClasses, popupClasses } from "./dialog.tsx";
import { FailureNotice } from "./form.tsx";
import type { Outcome } from "./outcome.ts";
import { useLate } from "./use-late.ts";
import { useOutcome } from "./use-outcome.ts";

const patience = 1000;

interface Confirmation<Value> {
  title: string;
  consequence: ReactNode;
  confirmLabel: string;
  /** Ink where nothing is lost for good. */
  confirmLook?: "danger" | "primary";
  confirm: () => Promise<Outcome<Value>>;
  /** What is being done, said once it takes longer than a second. */
  progress?: string;
  /** What a failure means. */
  failureTitle?: string;
  onDone?: (value: { ok: true } & Value) => void;
  /** `onDone` moves the focus: what asked for the deed is gone with it. */
  movesFocus?: boolean;
  /** Choices of the deed, below what it means. */
  choices?: ReactNode;
  /** Whether all that has to be chosen is. */
  ready?: boolean;
}

/** A button whose deed needs a second, explicit yes. The dialog says what will happen and stays open if it fails. */
export function ConfirmButton<Value>(
  props: ButtonLook &
    Confirmation<Value> & { className?: string } & (
      | { label: string; children?: ReactNode }
      // What is shown says it all.
      | { label?: undefined; children: ReactNode }
    ),
) {
  const { label, children, look = "quiet", size = "small", className, ...confirmation } = props;
  const [open, setOpen] = useState(false);
  const trigger = (
    <AlertDialog.Trigger aria-label={label} className={classNames(buttonClasses({ size, look }), className)}>
      {children ?? label}
    </AlertDialog.Trigger>
  );
  return <ConfirmDialog {...confirmation} open={open} onOpenChange={setOpen} trigger={trigger} />;
}

/** The same where something else asks for it. */
export function ConfirmDialog<Value>(
  props: Confirmation<Value> & { open: boolean; onOpenChange: (open: boolean) => void; trigger?: ReactNode },
) {
  const { open, onOpenChange, trigger, title, consequence, confirmLabel, confirmLook = "danger", confirm } = props;
  const { progress, failureTitle, onDone, movesFocus = false, choices, ready = true } = props;
  const isDone = useRef(false);
  const { pending, failure, run, forget } = useOutcome();
  const isLate = useLate(pending, patience);

  function change(next: boolean) {
    if (pending) return;
    forget();
    onOpenChange(next);
  }

  return (
    <AlertDialog.Root open={open} onOpenChange={change}>
      {trigger}
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdropClasses} />
        <AlertDialog.Popup
          finalFocus={() => !(movesFocus && isDone.current)}
          className={classNames(popupClasses, "max-w-104 gap-4 p-6")}
        >
          <div className="flex flex-col gap-2">
            <AlertDialog.Title className="text-20">{title}</AlertDialog.Title>
            <AlertDialog.Description className="text-13 text-muted">{consequence}</AlertDialog.Description>
          </div>
          {choices}
          {failure && <FailureNotice failure={failure} title={failureTitle} />}
          <div className="flex items-center justify-end gap-2">
            <p role="status" className="min-w-0 flex-1 text-12 text-muted">
              {isLate && progress}
            </p>
            <AlertDialog.Close className={buttonClasses()}>Cancel</AlertDialog.Close>
            <Button
              look={confirmLook}
              pending={pending}
              disabled={!ready}
              onClick={() =>
                run(confirm, (value) => {
                  isDone.current = true;
                  onOpenChange(false);
                  onDone?.(value);
                })
              }
            >
              {confirmLabel}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
