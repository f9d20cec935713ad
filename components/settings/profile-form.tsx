"use client";

import { toast } from "sonner";
import { maxNameLength } from "@/server/protocol/limits.ts";
import { Field } from "../ui/field.tsx";
import { Form, FormFailure, SubmitButton } from "../ui/form.tsx";
import type { Outcome } from "../ui/outcome.ts";

export function ProfileForm({ name, save }: { name: string; save: (input: { name: string }) => Promise<Outcome> }) {
  return (
    <Form
      label="Your profile"
      submit={(values) => save({ name: values.name ?? "" })}
      onSuccess={() => toast.success("Name saved.")}
    >
      <Field
        name="name"
        label="Name"
        defaultValue={name}
        autoComplete="name"
        maxLength={maxNameLength}
        required
        messages={{ missing: "Enter your name." }}
      />
      <FormFailure />
      <div>
        <SubmitButton>Save name</SubmitButton>
      </div>
    </Form>
  );
}
