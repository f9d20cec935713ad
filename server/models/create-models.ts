import { randomUUID } from "node:crypto";
import { asc, eq } from "drizzle-orm";
import type { Dispatcher } from "undici";
import { z } from "zod";
import type { Database, Transaction } from "../../db/client.ts";
import { providers, tenants } from "../../db/schema/index.ts";
import { recordAudit } from "../audit/index.ts";
import { requireRole } from "../auth/index.ts";
import { AppError, isAppError } from "../errors.ts";
import { parseInput } from "../lib/parse-input.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { providerId } from "../protocol/ids.ts";
import { modelDetails } from "../protocol/model-details.ts";
import { type ListedModel, type Models, type Provider, permissionPolicies, providerKeyContext } from "./index.ts";
import { listModels } from "./list-models.ts";
import type { ModelCatalogue } from "./model-catalogue.ts";
import { defaultBaseUrls, modelList, providerInput } from "./provider-input.ts";

type ProviderRow = typeof providers.$inferSelect;

export interface ModelsOptions {
  database: Database;
  secretBox: SecretBox;
  /** The server's way to providers, the one that model calls take. */
  outbound: Dispatcher;
  catalogue: ModelCatalogue;
}

export function createModels({ database, secretBox, outbound, catalogue }: ModelsOptions): Models {
  const toProvider = (row: ProviderRow) => describeProvider(row, catalogue);
  const sealKey = (key: string | undefined, id: string) =>
    key ? { keyEncrypted: secretBox.seal(key, providerKeyContext(id)), keyEnding: key.slice(-4) } : {};

  return {
    async settings(viewer) {
      return database.transaction(viewer, async (tx) => {
        const rows = await tx.select().from(providers).orderBy(asc(providers.createdAt));
        const [tenant] = await tx.select().from(tenants);
        const row = rows.find(({ id }) => id === tenant?.defaultProviderId);
        const model = row?.models.find(({ id }) => id === tenant?.defaultModelId);
        return {
          providers: rows.map(toProvider),
          defaultModel:
            row && model ? { providerId: row.id, modelId: model.id, label: `${model.name} · ${row.name}` } : null,
          permissionPolicy: tenant?.permissionPolicy ?? "allow",
        };
      });
    },

    async addProvider(viewer, input) {
      requireRole(viewer, "admin");
      const { kind, name, key, ...given } = parseInput(providerInput, input);
      const baseUrl = given.baseUrl ?? defaultBaseUrls[kind];
      if (!baseUrl) throw new AppError("invalid-input", "Enter the address of the endpoint.");
      if (!key && kind !== "openai-compatible") throw new AppError("invalid-input", "This provider needs a key.");
      const id = randomUUID();
      return database.transaction(viewer, async (tx) => {
        const values = { id, tenantId: viewer.tenantId, kind, name, baseUrl, ...sealKey(key, id) };
        const [row] = await tx.insert(providers).values(values).returning();
        await recordAudit(tx, viewer, { action: "provider-add", subject: id, detail: { kind, name, baseUrl } });
        return toProvider(required(row));
      });
    },

    async updateProvider(viewer, id, input) {
      requireRole(viewer, "admin");
      const { key, ...changes } = parseInput(providerInput.omit({ kind: true }).partial(), input);
      return database.transaction(viewer, async (tx) => {
        const before = await requireProvider(tx, id);
        const moved = changes.baseUrl !== undefined && changes.baseUrl !== before.baseUrl;
        // The stored key belongs to the address it was given for; it does not travel to another one.
        const forgotten = moved && !key ? { keyEncrypted: null, keyEnding: null } : {};
        const values = {
          ...changes,
          ...forgotten,
          ...sealKey(key, before.id),
          lastTest: moved || key ? null : before.lastTest,
        };
        const [row] = await tx
          .update(providers)
          .set({ ...values, updatedAt: new Date() })
          .where(eq(providers.id, before.id))
          .returning();
        await recordAudit(tx, viewer, {
          action: "provider-update",
          subject: before.id,
          detail: { ...changes, keyChanged: Boolean(key) },
        });
        return toProvider(required(row));
      });
    },

    async removeProvider(viewer, id) {
      requireRole(viewer, "admin");
      await database.transaction(viewer, async (tx) => {
        const row = await requireProvider(tx, id);
        await tx.delete(providers).where(eq(providers.id, row.id));
        await tx
          .update(tenants)
          .set({ defaultProviderId: null, defaultModelId: null })
          .where(eq(tenants.defaultProviderId, row.id));
        await recordAudit(tx, viewer, { action: "provider-remove", subject: row.id, detail: { name: row.name } });
      });
    },

    async testProvider(viewer, id, signal) {
      requireRole(viewer, "admin");
      const before = await database.transaction(viewer, (tx) => requireProvider(tx, id));
      const started = performance.now();
      let found: { id: string; name: string }[] | null = null;
      let lastTest: NonNullable<ProviderRow["lastTest"]>;
      try {
        const key = before.keyEncrypted ? secretBox.open(before.keyEncrypted, providerKeyContext(before.id)) : null;
        found = await listModels({ kind: before.kind, baseUrl: before.baseUrl, key, outbound }, signal);
        const milliseconds = Math.round(performance.now() - started);
        lastTest = { at: new Date().toISOString(), ok: true, modelCount: found.length, milliseconds };
      } catch (error) {
        if (!isAppError(error)) throw error;
        lastTest = { at: new Date().toISOString(), ok: false, message: error.message };
      }
      // The provider was asked outside of any transaction, so the row is read again and merged.
      return database.transaction(viewer, async (tx) => {
        const row = await requireProvider(tx, id);
        const models = found ? mergeModels(row.models, found) : row.models;
        const [updated] = await tx
          .update(providers)
          .set({ lastTest, models })
          .where(eq(providers.id, row.id))
          .returning();
        return toProvider(required(updated));
      });
    },

    async chooseModels(viewer, id, models) {
      requireRole(viewer, "admin");
      const listed = parseInput(modelList, models);
      return database.transaction(viewer, async (tx) => {
        const row = await requireProvider(tx, id);
        const before = new Map(row.models.map((model) => [model.id, model]));
        const chosen = listed.map((model) => ({ ...before.get(model.id), ...model }));
        const [updated] = await tx
          .update(providers)
          .set({ models: chosen })
          .where(eq(providers.id, row.id))
          .returning();
        const [tenant] = await tx.select().from(tenants);
        const stillOffered = chosen.some((model) => model.enabled && model.id === tenant?.defaultModelId);
        if (tenant?.defaultProviderId === row.id && !stillOffered) {
          await tx
            .update(tenants)
            .set({ defaultProviderId: null, defaultModelId: null })
            .where(eq(tenants.id, viewer.tenantId));
        }
        await recordAudit(tx, viewer, {
          action: "models-choose",
          subject: row.id,
          detail: { offered: chosen.filter((model) => model.enabled).length },
        });
        return toProvider(required(updated));
      });
    },

    async changeModel(viewer, { providerId, modelId, details: given }) {
      requireRole(viewer, "admin");
      const details = parseInput(modelDetails.nullable(), given);
      return database.transaction(viewer, async (tx) => {
        const row = await requireProvider(tx, providerId);
        if (!row.models.some(({ id }) => id === modelId)) throw new AppError("not-found", "There is no such model.");
        // What only repeats the catalogue is not kept: it follows the catalogue's next edition.
        const kept = details && !catalogue.says(row, modelId, details) ? { details } : {};
        const models = row.models.map((model) => {
          if (model.id !== modelId) return model;
          const { details: _before, ...listed } = model;
          return { ...listed, ...kept };
        });
        const [updated] = await tx.update(providers).set({ models }).where(eq(providers.id, row.id)).returning();
        await recordAudit(tx, viewer, { action: "model-change", subject: row.id, detail: { modelId, details } });
        return toProvider(required(updated));
      });
    },

    async chooseDefault(viewer, choice) {
      requireRole(viewer, "admin");
      const wanted = choice ? parseInput(z.object({ providerId, modelId: z.string().min(1) }), choice) : null;
      await database.transaction(viewer, async (tx) => {
        if (wanted) {
          const row = await requireProvider(tx, wanted.providerId);
          if (!row.models.some((model) => model.enabled && model.id === wanted.modelId)) {
            throw new AppError("conflict", "That model is no longer available. Choose another.");
          }
        }
        await tx
          .update(tenants)
          .set({ defaultProviderId: wanted?.providerId ?? null, defaultModelId: wanted?.modelId ?? null })
          .where(eq(tenants.id, viewer.tenantId));
        await recordAudit(tx, viewer, { action: "default-model-choose", detail: { ...wanted } });
      });
    },

    async choosePermissions(viewer, given) {
      requireRole(viewer, "admin");
      const permissionPolicy = parseInput(z.enum(permissionPolicies), given);
      await database.transaction(viewer, async (tx) => {
        await tx.update(tenants).set({ permissionPolicy }).where(eq(tenants.id, viewer.tenantId));
        await recordAudit(tx, viewer, { action: "permissions-choose", detail: { policy: permissionPolicy } });
      });
    },
  };
}

/** Locked, since what was read is written back: it cannot be removed in between. */
async function requireProvider(tx: Transaction, id: string): Promise<ProviderRow> {
  const [row] = await tx
    .select()
    .from(providers)
    .where(eq(providers.id, parseInput(providerId, id)))
    .for("update");
  if (!row) throw new AppError("not-found", "There is no such provider.");
  return row;
}

/** Keeps what was chosen and typed by hand; what is new starts switched off, unless nothing was known yet. */
function mergeModels(known: ProviderRow["models"], found: Omit<ListedModel, "enabled">[]): ProviderRow["models"] {
  const before = new Map(known.map((model) => [model.id, model]));
  const foundIds = new Set(found.map(({ id }) => id));
  const few = known.length === 0 && found.length <= 5;
  return [
    ...found.map((model) => ({ enabled: few, ...before.get(model.id), ...model })),
    ...known.filter((model) => !foundIds.has(model.id)),
  ];
}

function describeProvider(row: ProviderRow, catalogue: ModelCatalogue): Provider {
  const { id, kind, name, baseUrl, keyEnding, models, lastTest } = row;
  return {
    id,
    kind,
    name,
    baseUrl,
    keyEnding,
    models: models.map((model) => {
      const { details, source } = catalogue.describe(row, model);
      return { ...model, details, detailsFrom: source };
    }),
    lastTest: lastTest ? { ...lastTest, at: new Date(lastTest.at) } : null,
  };
}

function required<Row>(row: Row | undefined): Row {
  if (!row) throw new Error("The row was not stored.");
  return row;
}
