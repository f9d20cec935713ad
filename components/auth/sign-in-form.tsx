"use client";

import { Field } from "../ui/field.tsx";
import { Form, FormFailure, SubmitButton } from "../ui/form.tsx";
import { EmailField } from "./person-fields.tsx";
import { goTo, signInWithPassword } from "./sign-in-with-password.ts";

export function SignInForm({ next }: { next: string }) {
  return (
    <Form
      label="Sign in"
      submit={({ email = "", password = "" }) => signInWithPassword({ email, password })}
      onSuccess={() => goTo(next)}
    >
      <EmailField />
      <Field
        name="password"
        label="Password"
        type="password"
        autoComplete="current-password"
        required
        messages={{ missing: "Enter your password." }}
      />
      <FormFailure />
      <SubmitButton size="large" pendingLabel="Signing in …">
        Sign in
      </SubmitButton>
    </Form>
  );
}
