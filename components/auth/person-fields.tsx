import { maxEmailLength, maxNameLength, maxPasswordLength, minPasswordLength } from "@/server/protocol/limits.ts";
import { Field } from "../ui/field.tsx";

export function EmailField() {
  return (
    <Field
      name="email"
      label="Email"
      type="email"
      autoComplete="username"
      maxLength={maxEmailLength}
      spellCheck={false}
      required
      messages={{ missing: "Enter an email address.", form: "That does not look like an email address." }}
    />
  );
}

export function NewPasswordField({ name = "password", label = "Password" }: { name?: string; label?: string }) {
  return (
    <Field
      name={name}
      label={label}
      type="password"
      autoComplete="new-password"
      maxLength={maxPasswordLength}
      required
      hint={`At least ${minPasswordLength} characters. A short sentence works well.`}
      pattern={`.{${minPasswordLength},}`}
      messages={{
        missing: "Choose a password.",
        form: `A password needs at least ${minPasswordLength} characters.`,
      }}
    />
  );
}

/** Who somebody is and how they will sign in. */
export function PersonFields() {
  return (
    <>
      <Field
        name="name"
        label="Your name"
        autoComplete="name"
        maxLength={maxNameLength}
        required
        messages={{ missing: "Enter your name." }}
      />
      <EmailField />
      <NewPasswordField />
    </>
  );
}
