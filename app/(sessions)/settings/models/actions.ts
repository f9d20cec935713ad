"use server";

import { z } from "zod";
import { action } from "@/app/lib/action.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { permissionPolicies, providerKinds } from "@/server/models/index.ts";
import { modelDetails } from "@/server/protocol/model-details.ts";
import { services } from "@/server/services.ts";

const longestTestMilliseconds = 15_000;
const details = { name: z.string(), baseUrl: z.string().optional(), key: z.string().optional() };

export const addProvider = action({
  input: z.object({ kind: z.enum(providerKinds), ...details }),
  run: async (input) => {
    const provider = await services().models.addProvider(await requireAdmin(), input);
    return { providerId: provider.id };
  },
});

export const updateProvider = action({
  input: z.object({ providerId: z.string(), ...details }),
  run: async ({ providerId, ...changes }) => {
    await services().models.updateProvider(await requireAdmin(), providerId, changes);
    return { providerId };
  },
});

export const removeProvider = action({
  input: z.string(),
  run: async (providerId) => services().models.removeProvider(await requireAdmin(), providerId),
});

export const testProvider = action({
  input: z.string(),
  run: async (providerId) => {
    const signal = AbortSignal.any([services().stopping, AbortSignal.timeout(longestTestMilliseconds)]);
    const { lastTest } = await services().models.testProvider(await requireAdmin(), providerId, signal);
    return { lastTest };
  },
});

export const chooseModels = action({
  input: z.object({
    providerId: z.string(),
    models: z.array(z.object({ id: z.string(), name: z.string(), enabled: z.boolean() })),
  }),
  run: async ({ providerId, models }) => {
    await services().models.chooseModels(await requireAdmin(), providerId, models);
  },
});

export const changeModel = action({
  input: z.object({ providerId: z.string(), modelId: z.string(), details: modelDetails.nullable() }),
  run: async (input) => {
    await services().models.changeModel(await requireAdmin(), input);
  },
});

export const chooseDefault = action({
  input: z.object({ providerId: z.string(), modelId: z.string() }).nullable(),
  run: async (choice) => services().models.chooseDefault(await requireAdmin(), choice),
});

export const choosePermissions = action({
  input: z.enum(permissionPolicies),
  run: async (policy) => services().models.choosePermissions(await requireAdmin(), policy),
});
