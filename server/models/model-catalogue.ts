import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "../lib/logger.ts";
import { type DetailSource, type ModelDetails, unknownDetails } from "../protocol/model-details.ts";
import type { ProviderKind } from "./index.ts";

/** What the pinned opencode knows of the world's models; made by server/boot/build-catalogue.ts. */
export interface CatalogueData {
  /** opencode's version and this file's format: another one is made anew. */
  edition: string;
  providers: Record<string, CatalogueProvider>;
}

export interface CatalogueProvider {
  /** Empty where the address is in opencode's code. */
  url: string;
  /** Without what is not known. */
  models: Record<string, Partial<ModelDetails>>;
}

type Address = { kind: ProviderKind; baseUrl: string };
type DescribedModel = { id: string; details?: ModelDetails | undefined };

export interface ModelCatalogue {
  /** Null when the catalogue does not know it. */
  find(provider: Address, modelId: string): ModelDetails | null;
  /** What an admin set goes before what the catalogue says, which may be more than before with each version. */
  describe(provider: Address, model: DescribedModel): { details: ModelDetails; source: DetailSource };
  /** Whether storing these would only repeat the catalogue. */
  says(provider: Address, modelId: string, details: ModelDetails): boolean;
}

// Where the catalogue leaves the address out, as these have their own programs in opencode.
const hostsOfProviders: Record<string, string> = {
  openai: "api.openai.com",
  anthropic: "api.anthropic.com",
  google: "generativelanguage.googleapis.com",
  groq: "api.groq.com",
  mistral: "api.mistral.ai",
  xai: "api.x.ai",
  cerebras: "api.cerebras.ai",
  deepinfra: "api.deepinfra.com",
  togetherai: "api.together.xyz",
  cohere: "api.cohere.ai",
  perplexity: "api.perplexity.ai",
  vercel: "ai-gateway.vercel.sh",
};

// Nobody else serves their models under these ids for another price than theirs.
const closedVendors = ["openai", "anthropic"];

/**
 * A model is looked for at the provider that its address belongs to. At any other address, a gateway of
 * one's own for example, its id has to say whose it is: `anthropic/claude-…`, or an id that only one
 * vendor has. Everything else is not known: the same open model costs something else everywhere.
 */
export function createModelCatalogue({ providers }: Pick<CatalogueData, "providers">): ModelCatalogue {
  const idsByUrl = new Map<string, string>();
  const idsByHost = new Map<string, string>();
  for (const [id, { url }] of Object.entries(providers)) {
    const host = hostsOfProviders[id];
    if (host) idsByHost.set(host, id);
    if (url && !idsByUrl.has(plainUrl(url))) idsByUrl.set(plainUrl(url), id);
  }

  function providerOf({ kind, baseUrl }: Address): string | undefined {
    if (kind !== "openai-compatible") return kind;
    const host = URL.canParse(baseUrl) ? new URL(baseUrl).host : "";
    return idsByUrl.get(plainUrl(baseUrl)) ?? idsByHost.get(host);
  }

  function lookUp(providerId: string | undefined, modelId: string): Partial<ModelDetails> | undefined {
    const models = own(providers, providerId)?.models;
    // A dated edition costs what the model of that name costs.
    return own(models, modelId) ?? own(models, modelId.replace(/-\d{4}-?\d{2}-?\d{2}$/, ""));
  }

  const find: ModelCatalogue["find"] = (provider, modelId) => {
    const [prefix = "", ...rest] = modelId.split("/");
    const found =
      lookUp(providerOf(provider), modelId) ??
      lookUp(prefix, rest.join("/")) ??
      closedVendors.map((vendor) => lookUp(vendor, modelId)).find(Boolean);
    return found ? { ...unknownDetails, ...found } : null;
  };

  return {
    find,
    describe(provider, { id, details }) {
      if (details) return { details, source: "admin" };
      const found = find(provider, id);
      return found ? { details: found, source: "catalogue" } : { details: unknownDetails, source: "unknown" };
    },
    says: (provider, modelId, details) => isDeepStrictEqual(find(provider, modelId) ?? unknownDetails, details),
  };
}

/** An empty one where the file cannot be read: then an admin has to tell what models cost. */
export async function loadModelCatalogue(path: string, logger: Pick<Logger, "warn">): Promise<ModelCatalogue> {
  try {
    return createModelCatalogue(JSON.parse(await readFile(path, "utf8")) as CatalogueData);
  } catch (error) {
    logger.warn({ err: error }, "Prices and limits of models are not known: there is no catalogue");
    return createModelCatalogue({ providers: {} });
  }
}

function plainUrl(url: string): string {
  return url.toLowerCase().replace(/\/+$/, "");
}

// Ids come from providers and people: `constructor` must not find anything.
function own<Value>(record: Record<string, Value> | undefined, key: string | undefined): Value | undefined {
  return record && key && Object.hasOwn(record, key) ? record[key] : undefined;
}
