"use server";

import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { networkRules } from "@/server/egress/index.ts";
import { services } from "@/server/services.ts";

export const chooseNetwork = action({
  input: z.object({ rule: z.enum(networkRules), hosts: z.array(z.string()) }),
  run: async (choice) => services().network.choose(await requireAdmin(), choice),
});
