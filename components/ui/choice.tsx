"use client";

import { ChevronDown } from "lucide-react";
import { type ReactNode, useId } from "react";
import { Spinner } from "./spinner.tsx";

/** A short labelled select that takes effect at once. While it is being stored it shows what was chosen. */
export function Choice(props: {
  label: ReactNode;
  value: string;
  onChoose: (value: string) => void;
  pending: boolean;
  children: ReactNode;
}) {
  const { label, value, onChoose, pending, children } = props;
  const id = useId();
  return (
    <div className="flex items-center gap-2 text-13">
      <label htmlFor={id} className="text-muted">
        {label}
      </label>
      <span className="relative block">
        <select
          id={id}
          value={value}
          aria-busy={pending || undefined}
          onChange={(event) => pending || onChoose(event.target.value)}
          className="h-8 appearance-none rounded-control border border-control bg-raised pr-8 pl-2.5 transition-colors hover:border-muted pointer-coarse:h-10"
        >
          {children}
        </select>
        {pending ? (
          <Spinner className="pointer-events-none absolute top-1/2 right-2 -translate-y-1/2 text-muted" />
        ) : (
          <ChevronDown
            aria-hidden="true"
            className="pointer-events-none absolute top-1/2 right-2 size-4 -translate-y-1/2 text-muted"
          />
        )}
      </span>
    </div>
  );
}
