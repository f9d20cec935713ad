import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { inject } from "vitest";
import { createDatabase, type Database } from "./client.ts";

export interface TestDatabase extends AsyncDisposable {
  database: Database;
  ownerUrl: string;
  applicationUrl: string;
}

/** A migrated database of its own on the real Postgres that the test run started; gone with it. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const migrated = new URL(inject("migratedUrl"));
  const ownerUrl = await create(`template ${migrated.pathname.slice(1)}`);
  const applicationUrl = Object.assign(migrated, { pathname: new URL(ownerUrl).pathname }).toString();
  const database = createDatabase(applicationUrl, { connections: 5 });
  return {
    database,
    ownerUrl,
    applicationUrl,
    [Symbol.asyncDispose]: () => database.close(),
  };
}

/** The address of a new, empty database, as its owner. */
export function createEmptyDatabase(): Promise<string> {
  return create("");
}

async function create(options: string): Promise<string> {
  const url = new URL(inject("postgresUrl"));
  const admin = postgres(url.toString(), { max: 1, onnotice: () => {} });
  const name = `test_${randomBytes(6).toString("hex")}`;
  try {
    await admin.unsafe(`create database ${name} ${options}`);
  } finally {
    await admin.end();
  }
  url.pathname = `/${name}`;
  return url.toString();
}

declare module "vitest" {
  export interface ProvidedContext {
    postgresUrl: string;
    migratedUrl: string;
  }
}
