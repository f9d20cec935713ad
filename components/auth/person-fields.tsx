import { Field } from "../ui/field.tsx";

const shortestPassword = 12;

export function EmailField() {
  return (
    <Field
      name="email"
      label="Email"
      type="email"
      autoComplete="username"
      maxLength={254}
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
      maxLength={200}
      required
      hint={`At least ${shortestPassword} characters. A short sentence works well.`}
      pattern={`.{${shortestPassword},}`}
      messages={{
        missing: "Choose a password.",
        form: `A password needs at least ${shortestPassword} characters.`,
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
        maxLength={100}
        required
        messages={{ missing: "Enter your name." }}
      />
      <EmailField />
      <NewPasswordField />
    </>
  );
}
