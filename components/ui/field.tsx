"use client";

import { Field as BaseField } from "@base-ui/react/field";
import { ChevronDown } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { classNames } from "./class-names.ts";

const controlClasses = classNames(
  "w-full rounded-control border border-control bg-raised text-15 text-ink transition-colors",
  "hover:border-muted focus-visible:border-ink focus-visible:outline-1 focus-visible:-outline-offset-2",
  "data-invalid:border-danger data-invalid:outline-danger disabled:opacity-60",
);

interface Labelled {
  name: string;
  label: string;
  hint?: ReactNode;
  /** Shown instead of the browser's own words, which speak the browser's language. */
  messages?: { missing?: string; form?: string };
  className?: string;
}

/** A labelled input with its hint and its error, wired for screen readers. */
export function Field({
  name,
  label,
  hint,
  messages,
  className,
  mono,
  ...input
}: Labelled & { mono?: boolean } & Omit<ComponentProps<"input">, "name" | "className">) {
  return (
    <LabelledField {...{ name, label, hint, messages, className }}>
      <BaseField.Control
        {...(input as ComponentProps<typeof BaseField.Control>)}
        className={classNames(controlClasses, "h-10 px-3", mono && "font-mono")}
      />
    </LabelledField>
  );
}

export function SelectField({
  name,
  label,
  hint,
  messages,
  className,
  children,
  ...select
}: Labelled & Omit<ComponentProps<"select">, "name" | "className">) {
  return (
    <LabelledField {...{ name, label, hint, messages, className }}>
      <span className="relative block">
        <BaseField.Control
          render={<select {...select}>{children}</select>}
          className={classNames(controlClasses, "h-10 appearance-none pr-9 pl-3")}
        />
        <ChevronDown aria-hidden="true" className="pointer-events-none absolute top-3 right-3 size-4 text-muted" />
      </span>
    </LabelledField>
  );
}

type LabelledFieldProps = { [Key in keyof Labelled]: Labelled[Key] | undefined } & {
  name: string;
  label: string;
  children: ReactNode;
};

function LabelledField({ name, label, hint, messages = {}, className, children }: LabelledFieldProps) {
  return (
    <BaseField.Root name={name} className={classNames("flex flex-col gap-1.5", className)}>
      <BaseField.Label className="text-13 font-medium">{label}</BaseField.Label>
      {children}
      {hint && <BaseField.Description className="text-12 text-muted">{hint}</BaseField.Description>}
      <Problem match="valueMissing">{messages.missing ?? `${label} is required.`}</Problem>
      <Problem match="typeMismatch">{messages.form ?? `${label} does not look right.`}</Problem>
      <Problem match="patternMismatch">{messages.form ?? `${label} does not look right.`}</Problem>
    </BaseField.Root>
  );
}

function Problem({
  match,
  children,
}: {
  match: ComponentProps<typeof BaseField.Error>["match"];
  children?: ReactNode;
}) {
  return (
    <BaseField.Error match={match} className="text-12 font-medium text-danger">
      {children}
    </BaseField.Error>
  );
}
