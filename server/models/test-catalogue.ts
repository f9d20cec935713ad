import type { ModelDetails } from "../protocol/model-details.ts";
import { createModelCatalogue } from "./model-catalogue.ts";

const details = (input: number, maxContextTokens: number): Partial<ModelDetails> => ({
  price: { input, output: input * 5, cacheRead: input / 10, cacheWrite: null },
  maxContextTokens,
  maxOutputTokens: 32_000,
});

/** A few providers as opencode's catalogue has them. */
export const createTestCatalogue = () =>
  createModelCatalogue({
    providers: {
      openai: { url: "", models: { "gpt-5": { ...details(1, 400_000), images: true, maxInputTokens: 272_000 } } },
      anthropic: {
        url: "",
        models: { "claude-9": { ...details(3, 200_000), images: true, pdfs: true, reasoning: true } },
      },
      groq: { url: "", models: { "open-70b": details(0.5, 131_072) } },
      openrouter: {
        url: "https://openrouter.ai/api/v1",
        models: { "anthropic/claude-9": details(4, 190_000), "open/70b": details(0.7, 64_000) },
      },
      unpriced: { url: "https://unpriced.example/v1/", models: { small: { maxContextTokens: 8_192 } } },
    },
  });
