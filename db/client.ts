import type { ExtractTablesWithRelations } from "drizzle-orm";
import { sql } from "drizzle-orm";
import { drizzle, type PostgresJsDatabase, type PostgresJsTransaction } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import type { Role } from "../server/protocol/roles.ts";
import { type Listener, type ListenHandlers, openListener } from "./open-listener.ts";
import * as schema from "./schema/index.ts";

export type Transaction = PostgresJsTransaction<typeof schema, ExtractTablesWithRelations<typeof schema>>;

/** In whose name a transaction runs; `nobody` sees no row and may call the definer functions only. */
export type TransactionActor = { tenantId: string; userId: string; role: Role } | "nobody";

/**
 * The only way to the database. A transaction is opened as (tenant, user, role), which is all
 * that row-level security looks at; outside of one nothing can be queried.
 */
export interface Database {
  transaction<Result>(actor: TransactionActor, work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * One statement, one round trip, as nobody: only for functions that set for themselves in whose name
   * they act. Parameters keep their type; JSON is passed as text.
   */
  call<Row extends object>(statement: string, parameters: readonly Parameter[]): Promise<Row[]>;
  /** On a connection of its own, which is opened again when it is lost; `onReady` after each opening. */
  listen(channels: readonly string[], handlers: ListenHandlers): Listener;
  /** Throws when the database does not answer within two seconds. */
  ping(): Promise<void>;
  /** Waits for running transactions, five seconds at most. */
  close(): Promise<void>;
}

const maxCallers = 4;
const callerSeconds = 6 * 60 * 60;
const connection = {
  application_name: "dormouse",
  // What is asked here is asked by key, again and again: planned once for each connection.
  plan_cache_mode: "force_generic_plan",
  statement_timeout: 30_000,
  // As long as a lease: what a process that stands still has locked is free when it is taken over.
  idle_in_transaction_session_timeout: 15_000,
};

type Parameter = string | number | boolean | null;

export function createDatabase(applicationUrl: string, options: { connections?: number } = {}): Database {
  const open = (more: postgres.Options<Record<string, never>>) =>
    postgres(applicationUrl, { connect_timeout: 5, onnotice: () => {}, connection, ...more });
  const client = open({ max: options.connections ?? 10, idle_timeout: 60 });
  // What a person waits for goes over few connections that stay: a new one takes as long to log in and to plan
  // its first functions as a whole turn does afterwards, and postgres.js takes them in turn.
  const callers = open({ max: Math.min(options.connections ?? 10, maxCallers), max_lifetime: callerSeconds });
  const database: PostgresJsDatabase<typeof schema> = drizzle(preparing(client), { schema });

  return {
    transaction: (actor, work) =>
      database.transaction((tx) => {
        nameActor(tx, actor);
        return work(tx);
      }),
    call: async <Row extends object>(statement: string, parameters: readonly Parameter[]) => [
      ...(await callers.unsafe<Row[]>(statement, [...parameters], { prepare: true })),
    ],
    listen: (channels, handlers) => openListener({ url: applicationUrl, channels, handlers }),
    async ping() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(
          () => reject(Object.assign(new Error("No answer within two seconds."), { code: "DATABASE_LATE" })),
          2_000,
        );
      });
      await Promise.race([database.execute(sql`select 1`), late]).finally(() => clearTimeout(timer));
    },
    close: async () => void (await Promise.all([client, callers].map((one) => one.end({ timeout: 5 })))),
  };
}

const naming =
  "select set_config('dormouse.tenant_id', $1, true), set_config('dormouse.user_id', $2, true), set_config('dormouse.role', $3, true)";

/**
 * Sent, not waited for: statements of one connection run in the order they were sent, so the first of
 * the work already runs as the actor and costs no round trip more. Should it fail, the transaction does.
 */
function nameActor(tx: Transaction, actor: TransactionActor): void {
  const { tenantId, userId, role } = actor === "nobody" ? { tenantId: "", userId: "", role: "" } : actor;
  const { client } = (tx as unknown as { session: { client: postgres.TransactionSql } }).session;
  client
    .unsafe(naming, [tenantId, userId, role])
    .execute()
    .catch(() => {});
}

/**
 * drizzle asks for the types of a statement's parameters each time, which is a round trip of its own,
 * unless the statement is a prepared one.
 */
function preparing<Client extends postgres.Sql | postgres.TransactionSql>(client: Client): Client {
  type Begin = (work: (inner: postgres.TransactionSql) => unknown) => unknown;
  return new Proxy(client, {
    get(target, key) {
      if (key === "unsafe") {
        return (text: string, values?: Parameter[], options?: object) =>
          target.unsafe(text, values, { ...options, prepare: true });
      }
      const value: unknown = Reflect.get(target, key);
      if (key !== "begin" && key !== "savepoint") return value;
      return (work: (inner: postgres.TransactionSql) => unknown) => (value as Begin)((inner) => work(preparing(inner)));
    },
  });
}
