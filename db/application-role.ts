import type postgres from "postgres";
import { DatabaseProblem, errorCode } from "./database-problem.ts";
import type { PrepareDatabaseInput } from "./migrate.ts";

/**
 * Grants the application role exactly what it needs, and makes it first where no address of its
 * own was configured. Roles belong to the whole cluster, so the made one is named after the database.
 */
export async function grantToApplicationRole(owner: postgres.Sql, input: PrepareDatabaseInput): Promise<string> {
  const applicationUrl = input.applicationUrl ?? (await makeRole(owner, input));
  const role = decodeURIComponent(new URL(applicationUrl).username);
  await requirePlainRole(owner, role);
  const grants = `
    grant usage on schema public to ${quote(role)};
    revoke all on all tables in schema public from ${quote(role)};
    grant select, insert, update, delete on auth_sessions, invites, sandboxes, operations, archives, removed_workspaces, sessions,
      turns, log_entries, asks, tokens, providers to ${quote(role)};
    grant select on tenants to ${quote(role)};
    grant update (name, host_consent_at, default_provider_id, default_model_id, permission_policy, egress_rule,
      egress_hosts, idle_minutes) on tenants to ${quote(role)};
    grant select (id, tenant_id, email, name, role, disabled_at, created_at, updated_at) on users to ${quote(role)};
    grant update (name, disabled_at, updated_at) on users to ${quote(role)};
    grant select, insert on audit to ${quote(role)};
    revoke execute on all functions in schema public from public;
    grant execute on all functions in schema public to ${quote(role)};`;
  await owner.begin((tx) => tx.unsafe(grants));
  return applicationUrl;
}

/** A role that could look past row-level security would make every policy a decoration. */
async function requirePlainRole(owner: postgres.Sql, role: string): Promise<void> {
  const [found] = await owner<{ unbound: boolean; owns: boolean }[]>`
    select rolsuper or rolbypassrls as unbound,
      exists (select from pg_tables where schemaname = 'public' and tableowner = rolname) as owns
    from pg_roles where rolname = ${role}`;
  if (!found) {
    throw new DatabaseProblem(`The role ${role} of DATABASE_APP_URL does not exist in the database. Create it first.`);
  }
  if (!found.unbound && !found.owns) return;
  throw new DatabaseProblem(
    `The application role ${role} must not be a superuser, bypass row-level security or own the tables. Give DATABASE_APP_URL a plain role.`,
  );
}

async function makeRole(owner: postgres.Sql, input: PrepareDatabaseInput): Promise<string> {
  const url = new URL(input.ownerUrl);
  const [row] = await owner<{ name: string }[]>`select left(current_database(), 50) || '_app' as name`;
  const role = row?.name ?? "dormouse_app";
  const [existing] = await owner`select from pg_roles where rolname = ${role}`;
  // Node's own TLS and SCRAM need the plain password once; Postgres stores the verifier only.
  const password = input.applicationPassword.replaceAll("'", "''");
  try {
    await owner.unsafe(`${existing ? "alter" : "create"} role ${quote(role)} login password '${password}'`);
  } catch (error) {
    if (errorCode(error) !== "42501") throw error;
    throw new DatabaseProblem(
      `The user of DATABASE_URL may not create the application role. Create a role yourself (create role ${role} login password '…') and put its address in DATABASE_APP_URL.`,
      { cause: error },
    );
  }
  url.username = encodeURIComponent(role);
  url.password = encodeURIComponent(input.applicationPassword);
  return url.toString();
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
