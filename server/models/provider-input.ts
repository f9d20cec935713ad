import { z } from "zod";
import { maxModelIdLength, maxProviderKeyLength, maxProviderNameLength } from "../protocol/limits.ts";
import { type ProviderKind, providerKinds } from "./index.ts";

export const defaultBaseUrls: Record<ProviderKind, string | undefined> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  "openai-compatible": undefined,
};

export const providerInput = z.object({
  kind: z.enum(providerKinds, "Choose OpenAI, Anthropic or an OpenAI-compatible endpoint."),
  name: z
    .string()
    .trim()
    .min(1, "Enter a name for the provider.")
    .max(maxProviderNameLength, `A name can have at most ${maxProviderNameLength} characters.`),
  baseUrl: z
    .string()
    .trim()
    .transform((value) => value.replace(/\/+$/, ""))
    .pipe(z.url({ protocol: /^https?$/, error: "The address must begin with http:// or https://." }))
    .refine(isPlainAddress, "The address must not contain a password or a query.")
    .optional(),
  key: z
    .string()
    .trim()
    .max(maxProviderKeyLength, "That key is too long.")
    .regex(
      /^[\x21-\x7e]*$/,
      "A key cannot contain spaces or special characters. Check that nothing else was copied with it.",
    )
    .optional()
    .transform((value) => value || undefined),
});

export const modelList = z
  .array(
    z.object({
      id: z.string().trim().min(1, "Enter the model's id.").max(maxModelIdLength),
      name: z.string().trim().min(1).max(200),
      enabled: z.boolean(),
    }),
  )
  .max(2_000, "A provider can have at most 2,000 models.")
  .refine(
    (models) => new Set(models.map(({ id }) => id)).size === models.length,
    "Each model can be listed only once.",
  );

function isPlainAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { username, search } = new URL(value);
  return !username && !search;
}
