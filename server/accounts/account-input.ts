import { z } from "zod";
import { accountLimits } from "../protocol/limits.ts";

const { minPassword, maxPassword, maxName, maxEmail } = accountLimits;

export const password = z
  .string()
  .min(minPassword, `A password needs at least ${minPassword} characters.`)
  .max(maxPassword, `A password can have at most ${maxPassword} characters.`);

export const person = z.object({
  name: z.string().trim().min(1, "Enter a name.").max(maxName, `A name can have at most ${maxName} characters.`),
  email: z
    .string()
    .trim()
    .max(maxEmail, `An email address can have at most ${maxEmail} characters.`)
    .pipe(z.email("That does not look like an email address.")),
  password,
});

export const tenantName = z
  .string()
  .trim()
  .min(1, "Enter a name for the organisation.")
  .max(maxName, `A name can have at most ${maxName} characters.`);
