"use server";

import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { requestAction } from "@/app/lib/request-action.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const requestOfTenant = requestAction("tenant", requireAdmin);

export const chooseIdleLimit = action({
  input: z.object({ minutes: z.number().int() }),
  run: async ({ minutes }) => services().sandboxes.setIdleLimit(await requireAdmin(), minutes),
});
