import { accountLimits } from "@/server/protocol/limits.ts";
import { Field } from "../ui/field.tsx";

const { minPassword, maxPassword, maxName, maxEmail } = accountLimits;

export function EmailField() {
  return (
    <Field
      name="email"
      label="Email"
      type="email"
      autoComplete="username"
      maxLength={maxEmail}
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
      maxLength={maxPassword}
      required
      hint={`At least ${minPassword} characters. A short sentence works well.`}
      pattern={`.{${minPassword},}`}
      messages={{
        missing: "Choose a password.",
        form: `A password needs at least ${minPassword} characters.`,
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
        maxLength={maxName}
        required
        messages={{ missing: "Enter your name." }}
      />
      <EmailField />
      <NewPasswordField />
    </>
  );
}
