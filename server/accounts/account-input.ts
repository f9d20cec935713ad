import { z } from "zod";

export const password = z
  .string()
  .min(12, "A password needs at least 12 characters.")
  .max(200, "A password has at most 200 characters.");

export const person = z.object({
  name: z.string().trim().min(1, "Please give a name.").max(100, "A name has at most 100 characters."),
  email: z
    .string()
    .trim()
    .max(254, "An email address has at most 254 characters.")
    .pipe(z.email("That does not look like an email address.")),
  password,
});

export const tenantName = z
  .string()
  .trim()
  .min(1, "Please give the organisation a name.")
  .max(100, "A name has at most 100 characters.");
