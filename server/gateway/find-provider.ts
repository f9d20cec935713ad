import type { Database } from "../../db/client.ts";
import type { providers } from "../../db/schema/index.ts";
import type { AgentModels } from "../agent/index.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { type ModelCatalogue, type ProviderKind, providerKeyContext } from "../models/index.ts";
import { providerId } from "../protocol/ids.ts";

type ProviderRow = typeof providers.$inferSelect;
type ProviderSecret = Pick<ProviderRow, "id" | "kind" | "name" | "baseUrl" | "keyEncrypted">;
type Person = { tenantId: string; userId: string };

/** A provider with its key opened: never leaves this feature. */
export interface CallableProvider {
  id: string;
  kind: ProviderKind;
  name: string;
  baseUrl: string;
  key: string | null;
}

/**
 * Null when it is not of the caller's tenant: row-level security decides. Read at each call, so that a
 * changed key or a removed provider counts at once.
 */
export async function findProvider(
  { database, secretBox }: { database: Database; secretBox: SecretBox },
  caller: Person,
  wanted: string,
): Promise<CallableProvider | null> {
  const id = providerId.safeParse(wanted);
  if (!id.success) return null;
  const [row] = await database.call<ProviderSecret>(
    `select id, kind, name, base_url as "baseUrl", key_encrypted as "keyEncrypted"
      from find_provider($1::uuid, $2::uuid, $3::uuid)`,
    [caller.tenantId, caller.userId, id.data],
    { repeatable: true },
  );
  if (!row) return null;
  const { kind, name, baseUrl, keyEncrypted } = row;
  const key = keyEncrypted ? secretBox.open(keyEncrypted, providerKeyContext(row.id)) : null;
  return { id: row.id, kind, name, baseUrl, key };
}

interface TenantModelsRow extends Pick<AgentModels, "permissionPolicy"> {
  providers: Pick<ProviderRow, "id" | "kind" | "name" | "baseUrl" | "models">[];
  defaultProviderId: string | null;
  defaultModelId: string | null;
}

/** The sandbox acts for its person, but never as an admin. */
export async function readTenantModels(
  { database, catalogue }: { database: Database; catalogue: ModelCatalogue },
  { tenantId, userId }: Person,
): Promise<AgentModels> {
  const [row] = await database.call<TenantModelsRow>(
    `select providers, default_provider_id as "defaultProviderId", default_model_id as "defaultModelId",
      permission_policy as "permissionPolicy" from read_tenant_models($1::uuid, $2::uuid)`,
    [tenantId, userId],
    { repeatable: true },
  );
  const { providers: rows = [], defaultProviderId, defaultModelId, permissionPolicy = "allow" } = row ?? {};
  const defaultModel =
    defaultProviderId && defaultModelId ? { providerId: defaultProviderId, modelId: defaultModelId } : null;
  const providers = rows.map(({ id, kind, name, baseUrl, models }) => ({
    id,
    kind,
    name,
    models: models.map((model) => ({ ...model, details: catalogue.describe({ kind, baseUrl }, model).details })),
  }));
  return { providers, defaultModel, permissionPolicy };
}
