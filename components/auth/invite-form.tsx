"use client";

import { Form, FormFailure, SubmitButton } from "../ui/form.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { PersonFields } from "./person-fields.tsx";
import { goTo, signInWithPassword } from "./sign-in-with-password.ts";

interface InviteFormProps {
  token: string;
  accept: (input: { token: string; name: string; email: string; password: string }) => Promise<Outcome>;
}

export function InviteForm({ token, accept }: InviteFormProps) {
  async function submit({ name = "", email = "", password = "" }: Record<string, string>): Promise<Outcome> {
    const accepted = await accept({ token, name, email, password });
    return accepted.ok ? signInWithPassword({ email, password }) : accepted;
  }

  return (
    <Form label="Accept the invite" submit={submit} onSuccess={() => goTo("/")}>
      <PersonFields />
      <FormFailure />
      <SubmitButton size="large" pendingLabel="Creating your account …">
        Create account
      </SubmitButton>
    </Form>
  );
}
