"use server";

import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { roles } from "@/server/protocol/roles.ts";
import { services } from "@/server/services.ts";

export const disablePerson = action({
  input: z.string(),
  run: async (id) => services().accounts.disablePerson(await requireAdmin(), id),
});

export const enablePerson = action({
  input: z.string(),
  run: async (id) => services().accounts.enablePerson(await requireAdmin(), id),
});

export const createInvite = action({
  input: z.object({ role: z.enum(roles, "The role must be admin or user."), note: z.string() }),
  run: async (input) => {
    const { url } = await services().accounts.createInvite(await requireAdmin(), input);
    return { url };
  },
});

export const revokeInvite = action({
  input: z.string(),
  run: async (id) => services().accounts.revokeInvite(await requireAdmin(), id),
});
