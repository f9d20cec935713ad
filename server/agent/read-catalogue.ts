import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { CatalogueData, CatalogueProvider } from "../models/model-catalogue.ts";
import type { ModelDetails, ModelPrice } from "../protocol/model-details.ts";

const cost = z.object({
  input: z.number(),
  output: z.number(),
  cache: z.object({ read: z.number(), write: z.number() }),
});
const tier = cost.extend({ tier: z.object({ type: z.string(), size: z.number() }) });
const model = z.object({
  api: z.object({ url: z.string() }),
  capabilities: z.object({
    reasoning: z.boolean(),
    input: z.object({ image: z.boolean(), pdf: z.boolean() }),
  }),
  cost: cost.extend({ tiers: z.array(tier).optional() }),
  limit: z.object({ context: z.number(), input: z.number().optional(), output: z.number() }),
});
const answer = z.object({ all: z.array(z.object({ id: z.string(), models: z.record(z.string(), model) })) });

/**
 * What opencode knows of the world's providers and models without a network. It is started for that in
 * directories of its own, with nothing of this machine's in its environment that could name a provider.
 */
export async function readCatalogue(opencode: string, signal: AbortSignal): Promise<CatalogueData["providers"]> {
  const home = await mkdtemp(join(tmpdir(), "dormouse-catalogue-"));
  try {
    return toProviders(answer.parse(await askOpencode({ opencode, home, signal })));
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function askOpencode(input: { opencode: string; home: string; signal: AbortSignal }): Promise<unknown> {
  const { opencode, home, signal } = input;
  const folders = Object.fromEntries(["DATA", "CONFIG", "CACHE", "STATE"].map((kind) => [kind, join(home, kind)]));
  for (const folder of Object.values(folders)) await mkdir(folder);
  const switchedOff = ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE"];
  const child = spawn(opencode, ["serve", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: home,
    signal,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: home,
      NODE_ENV: "production",
      ...Object.fromEntries(Object.entries(folders).map(([kind, folder]) => [`XDG_${kind}_HOME`, folder])),
      ...Object.fromEntries(switchedOff.map((what) => [`OPENCODE_DISABLE_${what}`, "1"])),
      npm_config_registry: "http://127.0.0.1:9/",
    },
  });
  const exited = once(child, "exit");
  exited.catch(() => {});
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /listening on (http:\S+)/.exec(line)?.[1];
      if (!url) continue;
      const response = await fetch(`${url}/provider`, { signal });
      if (!response.ok) throw new Error(`opencode answered ${response.status} when asked for its catalogue.`);
      return await response.json();
    }
    throw new Error("opencode ended before it could be asked for its catalogue.");
  } finally {
    child.kill("SIGKILL");
    await exited.catch(() => {});
  }
}

function toProviders({ all }: z.infer<typeof answer>): CatalogueData["providers"] {
  return Object.fromEntries(
    all.map(({ id, models }): [string, CatalogueProvider] => [
      id,
      {
        url: Object.values(models)[0]?.api.url ?? "",
        models: Object.fromEntries(Object.entries(models).map(([modelId, value]) => [modelId, toDetails(value)])),
      },
    ]),
  );
}

// Where the catalogue holds nothing, opencode says 0 or false: what is not known is left out.
function toDetails({ capabilities, cost, limit }: z.infer<typeof model>): Partial<ModelDetails> {
  const price = toPrice(cost);
  const longer = (cost.tiers ?? [])
    .filter(({ tier: { type, size } }) => type === "context" && size > 0)
    .map((value) => ({ aboveTokens: value.tier.size, price: toPrice(value) }));
  return {
    ...(price.input !== null && { price }),
    ...(price.input !== null && longer.length > 0 && { longPromptPrices: longer }),
    ...(limit.context > 0 && { maxContextTokens: limit.context }),
    ...(limit.input && { maxInputTokens: limit.input }),
    ...(limit.output > 0 && { maxOutputTokens: limit.output }),
    ...(capabilities.input.image && { images: true }),
    ...(capabilities.input.pdf && { pdfs: true }),
    ...(capabilities.reasoning && { reasoning: true }),
  };
}

/**
 * Both 0 says nothing: most are free on a plan that somebody pays for, or have no price in the catalogue.
 * A cache that costs nothing beside input that costs something is not known either.
 */
function toPrice({ input, output, cache }: z.infer<typeof cost>): ModelPrice {
  if (input === 0 && output === 0) return { input: null, output: null, cacheRead: null, cacheWrite: null };
  return { input, output, cacheRead: cache.read || null, cacheWrite: cache.write || null };
}
