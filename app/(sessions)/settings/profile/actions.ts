"use server";

import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const updateProfile = action({
  input: z.object({ name: z.string() }),
  run: async (input) => services().accounts.updateProfile(await requireUser(), input),
});

export const changePassword = action({
  input: z.object({ current: z.string().max(1_000), next: z.string() }),
  run: async (input) => services().accounts.changePassword(await requireUser(), input),
});

export const endDevice = action({
  input: z.string(),
  run: async (id) => services().accounts.revokeDevice(await requireUser(), id),
});
