"use client";

import { toast } from "sonner";
import { NewPasswordField } from "../auth/person-fields.tsx";
import { Field } from "../ui/field.tsx";
import { Form, FormFailure, SubmitButton } from "../ui/form.tsx";
import type { Outcome } from "../ui/outcome.ts";

interface PasswordFormProps {
  email: string;
  change: (input: { current: string; next: string }) => Promise<Outcome>;
}

export function PasswordForm({ email, change }: PasswordFormProps) {
  return (
    <Form
      label="Change your password"
      submit={({ current = "", next = "" }) => change({ current, next })}
      onSuccess={(_, form) => {
        form.reset();
        toast.success("Password changed. Your other devices have been signed out.");
      }}
    >
      {/* Tells password stores whose password this is. */}
      <input type="text" name="username" autoComplete="username" defaultValue={email} hidden readOnly />
      <Field
        name="current"
        label="Current password"
        type="password"
        autoComplete="current-password"
        required
        messages={{ missing: "Enter your current password." }}
      />
      <NewPasswordField name="next" label="New password" />
      <FormFailure />
      <div>
        <SubmitButton look="secondary" pendingLabel="Changing …">
          Change password
        </SubmitButton>
      </div>
    </Form>
  );
}
