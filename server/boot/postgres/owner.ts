import postgres from "postgres";
import type { Passwords } from "./passwords.ts";
import { databaseUrl } from "./url.ts";

/** Makes the role that owns database and tables, no superuser, and the database. Repeatable. */
export async function prepareOwner({ port, passwords }: { port: number; passwords: Passwords }): Promise<void> {
  const url = databaseUrl({ user: "postgres", password: passwords.superuser, port, database: "postgres" });
  const sql = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    const [role] = await sql`SELECT 1 FROM pg_roles WHERE rolname = 'dormouse'`;
    // Our own base64url text: nothing in it needs quoting.
    await sql.unsafe(
      `${role ? "ALTER" : "CREATE"} ROLE dormouse LOGIN CREATEROLE NOSUPERUSER PASSWORD '${passwords.owner}'`,
    );
    const [database] = await sql`SELECT 1 FROM pg_database WHERE datname = 'dormouse'`;
    if (!database) await sql.unsafe("CREATE DATABASE dormouse OWNER dormouse");
  } finally {
    await sql.end({ timeout: 2 });
  }
}
