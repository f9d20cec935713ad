import { z } from "zod";

export const password = z
  .string()
  .min(12, "A password needs at least 12 characters.")
  .max(200, "A password can have at most 200 characters.");

export const person = z.object({
  name: z.string().trim().min(1, "Enter a name.").max(100, "A name can have at most 100 characters."),
  email: z
    .string()
    .trim()
    .max(254, "An email address can have at most 254 characters.")
    .pipe(z.email("That does not look like an email address.")),
  password,
});

export const tenantName = z
  .string()
  .trim()
  .min(1, "Enter a name for the organisation.")
  .max(100, "A name can have at most 100 characters.");
