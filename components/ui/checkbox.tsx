"use client";

import { Check } from "lucide-react";
import { type ComponentProps, type ReactNode, useId } from "react";
import { classNames } from "./class-names.ts";

type CheckboxProps = Omit<ComponentProps<"input">, "type" | "children"> & { children: ReactNode; hint?: ReactNode };

export function Checkbox({ children, hint, className, ...input }: CheckboxProps) {
  const hintId = useId();
  return (
    <label className={classNames("flex items-start gap-2.5 text-13", className)}>
      <span className="relative mt-0.5 grid size-4 shrink-0 place-items-center">
        <input
          type="checkbox"
          aria-describedby={hint ? hintId : undefined}
          className="peer size-4 appearance-none rounded-control border border-control bg-raised transition-colors checked:border-ink checked:bg-ink disabled:opacity-60"
          {...input}
        />
        <Check
          aria-hidden="true"
          strokeWidth={3}
          className="pointer-events-none absolute size-3 text-bg opacity-0 peer-checked:opacity-100"
        />
      </span>
      <span className="min-w-0">
        {children}
        {hint && (
          <span id={hintId} className="block text-12 text-muted">
            {hint}
          </span>
        )}
      </span>
    </label>
  );
}
