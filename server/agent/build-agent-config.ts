import { createHash } from "node:crypto";
import { demoProviderId, type PermissionPolicy, type ProviderKind } from "../models/index.ts";
import { type ModelDetails, unknownDetails } from "../protocol/model-details.ts";
import { sidecarOrigin } from "../protocol/sidecar.ts";

const demoModel = `${demoProviderId}/demo`;

// All three are bundled with opencode: nothing is downloaded when it starts.
const sdkByKind: Record<ProviderKind, string> = {
  openai: "@ai-sdk/openai",
  anthropic: "@ai-sdk/anthropic",
  "openai-compatible": "@ai-sdk/openai-compatible",
};

// For a model that nobody described. Too high ends in the provider's own refusal, after which opencode
// compacts and goes on; too low would compact for nothing.
const unknownLimit = { context: 128_000, output: 16_384 };

/** What a tenant chose, as far as its agents have to know. */
export interface AgentModels {
  providers: (Omit<ProviderEntry, "models"> & { models: (ProviderEntry["models"][number] & { enabled: boolean })[] })[];
  defaultModel: { providerId: string; modelId: string } | null;
  permissionPolicy: PermissionPolicy;
}

/**
 * The opencode.json of a tenant. Keys are not in it: the word that stands there instead is replaced by
 * the sandbox's token in the sidecar, and that by the provider's key in the gateway. Nor are prices: a
 * changed file restarts every agent, and the server computes what a turn costs.
 */
export function buildAgentConfig({ providers, defaultModel, permissionPolicy }: AgentModels): Record<string, unknown> {
  const offered = providers
    .map((provider) => ({ ...provider, models: provider.models.filter((model) => model.enabled) }))
    .filter((provider) => provider.models.length > 0);
  const chosen = offered.some(
    ({ id, models }) => id === defaultModel?.providerId && models.some((model) => model.id === defaultModel.modelId),
  );
  const model = chosen ? `${defaultModel?.providerId}/${defaultModel?.modelId}` : demoModel;
  const entries = offered.map(({ id, kind, name, models }) => [id, entry({ id, kind, name, models })] as const);
  return {
    $schema: "https://opencode.ai/config.json",
    share: "disabled",
    autoupdate: false,
    snapshot: true,
    model,
    small_model: model,
    // The demo model is always there, so that its sessions can be continued after a key was added.
    enabled_providers: [...entries.map(([id]) => id), demoProviderId],
    provider: { ...Object.fromEntries(entries), [demoProviderId]: demoEntry() },
    permission: permissionsOf(permissionPolicy),
  };
}

/**
 * What changes something or leaves the session's directory is what a person may want to know of. Reading,
 * planning and asking stay free, or nothing could be done at all.
 */
const guarded = ["bash", "edit", "webfetch", "websearch", "external_directory", "doom_loop"];

function permissionsOf(policy: PermissionPolicy): Record<string, PermissionPolicy> {
  const free = { "*": "allow" } as const;
  return policy === "allow" ? free : { ...free, ...Object.fromEntries(guarded.map((name) => [name, policy])) };
}

/** The same for the same content, whatever the order of its keys. */
export function agentConfigHash(config: Record<string, unknown>): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(config)))
    .digest("hex");
}

interface ProviderEntry {
  id: string;
  kind: ProviderKind;
  name: string;
  models: { id: string; name: string; details: ModelDetails }[];
}

function entry({ id, kind, name, models }: ProviderEntry) {
  return {
    npm: sdkByKind[kind],
    name,
    options: { baseURL: `${sidecarOrigin}/llm/${id}`, apiKey: "kept-by-the-server" },
    models: Object.fromEntries(
      models.map((model) => [model.id, { name: model.name, tool_call: true, ...abilities(model.details) }]),
    ),
  };
}

function abilities({ maxContextTokens, maxInputTokens, maxOutputTokens, images, pdfs, reasoning }: ModelDetails) {
  const context = maxContextTokens ?? unknownLimit.context;
  const limit = {
    context,
    ...(maxInputTokens && { input: maxInputTokens }),
    // Room for the answer is taken from the context: of a small one it must leave most.
    output: maxOutputTokens ?? Math.min(unknownLimit.output, Math.ceil(context / 4)),
  };
  return {
    limit,
    ...(reasoning && { reasoning }),
    ...((images || pdfs) && {
      attachment: true,
      modalities: { input: ["text", ...(images ? ["image"] : []), ...(pdfs ? ["pdf"] : [])], output: ["text"] },
    }),
  };
}

function demoEntry() {
  return entry({
    id: demoProviderId,
    kind: "openai-compatible",
    name: "Dormouse demo",
    models: [{ id: "demo", name: "Demo model", details: { ...unknownDetails, reasoning: true } }],
  });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
