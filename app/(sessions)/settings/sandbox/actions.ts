"use server";

import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { requestAction } from "@/app/lib/request-action.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const requestOwn = requestAction("own", requireUser);

export const configureOwn = action({
  input: z.object({
    sandboxId: z.string(),
    idleMinutes: z.number().int().nullable().optional(),
    keepAwakeUntil: z.iso
      .datetime()
      .transform((text) => new Date(text))
      .nullable()
      .optional(),
  }),
  run: async (chosen) => services().sandboxes.configure(await requireUser(), { scope: "own", ...chosen }),
});
