import { z } from "zod";

/** What a permission asks for: `permission` names a row of the tool table or another of its permissions. */
export const permissionRequest = z.object({
  permission: z.string(),
  /** What it is about: a command, paths, an address. */
  patterns: z.array(z.string()).default([]),
  /** What “always” would allow. */
  always: z.array(z.string()).default([]),
});

export const questionRequest = z.object({
  questions: z.array(
    z.object({
      text: z.string(),
      multiple: z.boolean().default(false),
      options: z.array(z.object({ label: z.string(), description: z.string().optional() })).default([]),
    }),
  ),
});

export type AskRequest = z.infer<typeof permissionRequest> | z.infer<typeof questionRequest>;
