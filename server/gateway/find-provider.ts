import { asc, eq } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { providers, tenants } from "../../db/schema/index.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { type PermissionPolicy, type ProviderKind, providerKeyContext } from "../models/index.ts";
import { providerId } from "../protocol/ids.ts";

export type ProviderRow = typeof providers.$inferSelect;
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
  const [row] = await database.transaction(asPerson(caller), (tx) =>
    tx.select().from(providers).where(eq(providers.id, id.data)),
  );
  if (!row) return null;
  const { kind, name, baseUrl, keyEncrypted } = row;
  const key = keyEncrypted ? secretBox.open(keyEncrypted, providerKeyContext(row.id)) : null;
  return { id: row.id, kind, name, baseUrl, key };
}

export interface TenantModels {
  providers: ProviderRow[];
  defaultModel: { providerId: string; modelId: string } | null;
  permissionPolicy: PermissionPolicy;
}

export async function readTenantModels(database: Database, person: Person): Promise<TenantModels> {
  return database.transaction(asPerson(person), async (tx) => {
    const rows = await tx.select().from(providers).orderBy(asc(providers.createdAt), asc(providers.id));
    const [tenant] = await tx.select().from(tenants);
    const { defaultProviderId, defaultModelId } = tenant ?? {};
    return {
      providers: rows,
      defaultModel:
        defaultProviderId && defaultModelId ? { providerId: defaultProviderId, modelId: defaultModelId } : null,
      permissionPolicy: tenant?.permissionPolicy ?? "allow",
    };
  });
}

// The sandbox acts for its person, but never as an admin.
const asPerson = ({ tenantId, userId }: Person) => ({ tenantId, userId, role: "user" as const });
