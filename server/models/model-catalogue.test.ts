import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { unknownDetails } from "../protocol/model-details.ts";
import { loadModelCatalogue } from "./model-catalogue.ts";
import { createTestCatalogue } from "./test-catalogue.ts";

const catalogue = createTestCatalogue();
const openai = { kind: "openai", baseUrl: "https://api.openai.com/v1" } as const;
const anthropic = { kind: "anthropic", baseUrl: "https://api.anthropic.com/v1" } as const;
const at = (baseUrl: string) => ({ kind: "openai-compatible", baseUrl }) as const;
const inputPrice = (provider: Parameters<typeof catalogue.find>[0], modelId: string) =>
  catalogue.find(provider, modelId)?.price.input;

describe("a model of the catalogue", () => {
  it("is found by the kind of its provider and its exact id", () => {
    expect(catalogue.find(anthropic, "claude-9")).toEqual({
      ...unknownDetails,
      price: { input: 3, output: 15, cacheRead: expect.closeTo(0.3), cacheWrite: null },
      maxContextTokens: 200_000,
      maxOutputTokens: 32_000,
      images: true,
      pdfs: true,
      reasoning: true,
    });
    expect(catalogue.find(anthropic, "claude-")).toBeNull();
    expect(catalogue.find(openai, "open-70b")).toBeNull();
  });

  it("is found by a dated edition of its id", () => {
    expect(inputPrice(openai, "gpt-5-2026-01-31")).toBe(1);
    expect(inputPrice(anthropic, "claude-9-20260131")).toBe(3);
  });

  it("at an OpenAI-compatible endpoint is the one of the provider with that address", () => {
    expect(inputPrice(at("https://openrouter.ai/api/v1"), "open/70b")).toBe(0.7);
    expect(inputPrice(at("https://OpenRouter.ai/api/v1/"), "anthropic/claude-9")).toBe(4);
    expect(inputPrice(at("https://api.groq.com/openai/v1"), "open-70b")).toBe(0.5);
  });

  it("at any other address is the one that its prefix names", () => {
    const gateway = at("http://litellm.local:4000");
    expect(inputPrice(gateway, "anthropic/claude-9")).toBe(3);
    expect(inputPrice(gateway, "groq/open-70b")).toBe(0.5);
    expect(inputPrice(gateway, "gpt-5")).toBe(1);
  });

  it("is not guessed where an open model could cost anything", () => {
    for (const id of ["open-70b", "open/70b", "nobody/gpt-5", "", "/", "constructor", "__proto__/x"]) {
      expect(catalogue.find(at("http://localhost:11434/v1"), id)).toBeNull();
    }
  });

  it("may have limits and no price", () => {
    expect(catalogue.find(at("https://unpriced.example/v1"), "small")).toEqual({
      ...unknownDetails,
      maxContextTokens: 8_192,
    });
  });
});

describe("a model's details", () => {
  it("are the admin's, else the catalogue's, else unknown", () => {
    const own = { ...unknownDetails, maxContextTokens: 5 };
    expect(catalogue.describe(openai, { id: "gpt-5", details: own })).toEqual({ details: own, source: "admin" });
    expect(catalogue.describe(openai, { id: "gpt-5" }).source).toBe("catalogue");
    expect(catalogue.describe(openai, { id: "gpt-none" })).toEqual({ details: unknownDetails, source: "unknown" });
  });

  it("are unknown without a catalogue, which is logged", async () => {
    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => lines.push(line) });
    const empty = await loadModelCatalogue("/nowhere/model-catalogue.json", logger);
    expect(empty.describe(openai, { id: "gpt-5" }).source).toBe("unknown");
    expect(lines).toHaveLength(1);
  });
});
