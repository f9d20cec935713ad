import { readFileSync } from "node:fs";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { grantToApplicationRole } from "./application-role.ts";
import { applyFunctions } from "./apply-functions.ts";
import { DatabaseProblem, describeConnectionProblem } from "./database-problem.ts";

const migrationsFolder = new URL("./migrations", import.meta.url).pathname;
const migrationLock = 7_263_185_511;
const oldestMajor = 15;

export interface PrepareDatabaseInput {
  ownerUrl: string;
  /** The application role's own address, where one was configured. */
  applicationUrl: string | null;
  /** Password for the application role where this function makes it. */
  applicationPassword: string;
  /** Derived from the master key; a database belongs to the key that first claimed it. */
  masterKeyCheck: string;
}

export interface OpenedDatabase {
  applicationUrl: string;
  /** From here on the database belongs to the master key. Idempotent. */
  claim(): Promise<void>;
  /** Idempotent. A database that was not claimed by then belongs to nobody still. */
  close(): Promise<void>;
}

/**
 * Migrates as the owner and makes sure of the application role. Any number of replicas may call
 * it at once: an advisory lock lets one work and the others find nothing to do. Of a database that nobody has
 * claimed yet the lock is kept until `close`: the start may still be refused, and until it is known, no other
 * master key may come in between.
 */
export async function openDatabase(input: PrepareDatabaseInput): Promise<OpenedDatabase> {
  const owner = postgres(input.ownerUrl, { max: 1, connect_timeout: 10, onnotice: () => {} });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= owner.end({ timeout: 5 });
    return closing;
  };
  try {
    await requireUsableServer(owner, input.ownerUrl);
    await owner`select pg_advisory_lock(${migrationLock})`;
    await refuseNewerVersion(owner);
    // Before anything is changed: neither tables nor the password of the role are a stranger's business.
    let claimed = await isClaimed(owner, input.masterKeyCheck);
    await migrate(drizzle(owner), { migrationsFolder });
    await applyFunctions(owner);
    const applicationUrl = await grantToApplicationRole(owner, input);
    await requireConnection(applicationUrl, input.applicationUrl ? "DATABASE_APP_URL" : "DATABASE_URL");
    if (claimed) await close();
    return {
      applicationUrl,
      async claim() {
        if (claimed) return;
        const [row] = await owner<{ same: boolean }[]>`select claim_installation(${input.masterKeyCheck}) as same`;
        if (!row?.same) throw anotherKey();
        claimed = true;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** For a database that nothing else has to be asked about: opened, claimed and let go of. */
export async function prepareDatabase(input: PrepareDatabaseInput): Promise<{ applicationUrl: string }> {
  const { applicationUrl, claim, close } = await openDatabase(input);
  try {
    await claim();
    return { applicationUrl };
  } finally {
    await close();
  }
}

async function requireUsableServer(owner: postgres.Sql, url: string): Promise<void> {
  let version: number;
  try {
    const [row] = await owner<{ version: string }[]>`select current_setting('server_version_num') as version`;
    version = Math.floor(Number(row?.version) / 10_000);
  } catch (error) {
    throw describeConnectionProblem(error, url, "DATABASE_URL");
  }
  if (version < oldestMajor) {
    throw new DatabaseProblem(`Postgres ${version} is too old: Dormouse needs ${oldestMajor} or newer.`);
  }
}

async function refuseNewerVersion(owner: postgres.Sql): Promise<void> {
  const journal = JSON.parse(readFileSync(`${migrationsFolder}/meta/_journal.json`, "utf8")) as {
    entries: { when: number }[];
  };
  const known = Math.max(...journal.entries.map((entry) => entry.when));
  const [table] = await owner`select to_regclass('drizzle.__drizzle_migrations') as name`;
  if (!table?.name) return;
  const [row] = await owner<
    { newest: string | null }[]
  >`select max(created_at) as newest from drizzle.__drizzle_migrations`;
  if (Number(row?.newest ?? 0) <= known) return;
  throw new DatabaseProblem(
    "This database was written by a newer version of Dormouse. Start that version, or restore a backup made before the upgrade. Nothing was changed.",
  );
}

/** False while nobody has claimed it; throws when another master key did. */
async function isClaimed(owner: postgres.Sql, check: string): Promise<boolean> {
  const [table] = await owner`select to_regclass('public.installation') as name`;
  if (!table?.name) return false;
  const [row] = await owner<{ same: boolean }[]>`select master_key_check = ${check} as same from installation`;
  if (row && !row.same) throw anotherKey();
  return row !== undefined;
}

function anotherKey(): DatabaseProblem {
  return new DatabaseProblem(
    "The master key is not the one this database was made with, so its secrets cannot be read. Set the right one in DORMOUSE_MASTER_KEY, or the DORMOUSE_HOME whose master-key file holds it.",
  );
}

async function requireConnection(url: string, variable: string): Promise<void> {
  const client = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    await client`select 1`;
  } catch (error) {
    throw describeConnectionProblem(error, url, variable);
  } finally {
    await client.end({ timeout: 5 });
  }
}
