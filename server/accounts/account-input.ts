import { z } from "zod";
import { maxEmailLength, maxNameLength, maxPasswordLength, minPasswordLength } from "../protocol/limits.ts";

const tooLongName = `A name can have at most ${maxNameLength} characters.`;

export const password = z
  .string()
  .min(minPasswordLength, `A password needs at least ${minPasswordLength} characters.`)
  .max(maxPasswordLength, `A password can have at most ${maxPasswordLength} characters.`);

export const person = z.object({
  name: z.string().trim().min(1, "Enter a name.").max(maxNameLength, tooLongName),
  email: z
    .string()
    .trim()
    .max(maxEmailLength, `An email address can have at most ${maxEmailLength} characters.`)
    .pipe(z.email("That does not look like an email address.")),
  password,
});

export const tenantName = z
  .string()
  .trim()
  .min(1, "Enter a name for the organisation.")
  .max(maxNameLength, tooLongName);
