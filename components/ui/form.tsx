"use client";

import { Form as BaseForm } from "@base-ui/react/form";
import { createContext, type ReactNode, use, useRef } from "react";
import { Button, type ButtonLook } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Notice } from "./notice.tsx";
import type { Failure, Outcome } from "./outcome.ts";
import { useOutcome } from "./use-outcome.ts";

const FormState = createContext<{ pending: boolean; failure: Failure | null }>({ pending: false, failure: null });

/**
 * Fields are checked first and the first wrong one gets the focus; only then is `submit` called. What was
 * typed stays where it is when the call fails.
 */
export function Form<Value>(props: {
  submit: (values: Record<string, string>) => Promise<Outcome<Value>>;
  onSuccess?: ((value: { ok: true } & Value, form: HTMLFormElement) => void) | undefined;
  children: ReactNode;
  className?: string;
  label?: string;
}) {
  const { submit, onSuccess, children, className, label } = props;
  const { pending, failure, run } = useOutcome();
  const element = useRef<HTMLFormElement>(null);

  function send() {
    const form = element.current;
    if (!form || pending) return;
    const values = Object.fromEntries(
      [...new FormData(form)].filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
    run(
      () => submit(values),
      (value) => onSuccess?.(value, form),
    );
  }

  return (
    <FormState value={{ pending, failure }}>
      <BaseForm
        ref={element}
        aria-label={label}
        onFormSubmit={send}
        className={classNames("flex flex-col gap-5", className)}
      >
        {children}
      </BaseForm>
    </FormState>
  );
}

/** Where the form says what the server refused. */
export function FormFailure() {
  const { failure } = use(FormState);
  return failure && <FailureNotice failure={failure} />;
}

export function FailureNotice({ failure, title }: { failure: Failure; title?: string | undefined }) {
  return (
    <Notice tone="danger" announce title={title}>
      {failure.message}
      {failure.reference && <span className="block text-12">Reference {failure.reference}</span>}
    </Notice>
  );
}

export function SubmitButton(
  props: ButtonLook & { children: ReactNode; pendingLabel?: string; className?: string; disabled?: boolean },
) {
  const { children, pendingLabel, look = "primary", ...rest } = props;
  const { pending } = use(FormState);
  return (
    <Button type="submit" look={look} pending={pending} {...rest}>
      {pending && pendingLabel ? pendingLabel : children}
    </Button>
  );
}
