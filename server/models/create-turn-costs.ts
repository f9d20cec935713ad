import { inArray } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { providers } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import type { Logger } from "../lib/logger.ts";
import { providerId } from "../protocol/ids.ts";
import { demoProviderId } from "./index.ts";
import type { ModelCatalogue } from "./model-catalogue.ts";
import { priceUsage, roundDollars, type TokenCounts } from "./price-usage.ts";

/** One call of a model. */
export interface UsedStep {
  tokens: TokenCounts;
  providerId: string | null;
  modelId: string | null;
}

export interface TurnCosts {
  /**
   * What these calls cost together, in dollars, by the prices of now. Null when one of them has a price
   * that is not known, or when prices could not be read: a turn does not fail for that.
   */
  costOf(actor: Actor, steps: readonly UsedStep[]): Promise<number | null>;
}

export function createTurnCosts(options: {
  database: Database;
  catalogue: ModelCatalogue;
  logger: Pick<Logger, "warn">;
}): TurnCosts {
  const { database, catalogue, logger } = options;

  async function readProviders(actor: Actor, steps: readonly UsedStep[]) {
    const ids = new Set(steps.flatMap((step) => providerId.safeParse(step.providerId).data ?? []));
    if (ids.size === 0) return [];
    const { id, kind, baseUrl, models } = providers;
    return database.transaction(actor, (tx) =>
      tx
        .select({ id, kind, baseUrl, models })
        .from(providers)
        .where(inArray(id, [...ids])),
    );
  }

  return {
    async costOf(actor, steps) {
      try {
        const known = await readProviders(actor, steps);
        let total = 0;
        for (const step of steps) {
          if (step.providerId === demoProviderId) continue;
          const provider = known.find(({ id }) => id === step.providerId);
          if (!provider || !step.modelId) return null;
          const model = provider.models.find(({ id }) => id === step.modelId) ?? { id: step.modelId };
          const cost = priceUsage(step.tokens, catalogue.describe(provider, model).details);
          if (cost === null) return null;
          total += cost;
        }
        return roundDollars(total);
      } catch (error) {
        logger.warn({ err: error }, "What a turn cost could not be computed");
        return null;
      }
    },
  };
}
