"use server";

import { headers } from "next/headers";
import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { clientAddress } from "@/server/auth/client-address.ts";
import { services } from "@/server/services.ts";

const person = { name: z.string(), email: z.string(), password: z.string() };

// Neither refreshes its page: it would show "already set up" or "already used" while the person is signed in.

export const completeFirstRun = action({
  input: z.object({ ...person, tenantName: z.string(), setupCode: z.string(), hostConsent: z.boolean() }),
  refresh: false,
  run: async (input) => {
    await services().accounts.completeFirstRun({ ...input, clientAddress: clientAddress(await headers()) });
  },
});

export const acceptInvite = action({
  input: z.object({ ...person, token: z.string() }),
  refresh: false,
  run: async (input) => {
    await services().accounts.acceptInvite({ ...input, clientAddress: clientAddress(await headers()) });
  },
});
