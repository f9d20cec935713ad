import type { ExtractTablesWithRelations } from "drizzle-orm";
import { drizzle, type PostgresJsDatabase, type PostgresJsTransaction } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import type { Role } from "../server/protocol/roles.ts";
import { createAvailability, isBrokenOff } from "./availability.ts";
import { type ConnectionGuard, createConnectionGuard } from "./guard-connections.ts";
import { type Listener, type ListenHandlers, openListener } from "./open-listener.ts";
import * as schema from "./schema/index.ts";

export type Transaction = PostgresJsTransaction<typeof schema, ExtractTablesWithRelations<typeof schema>>;

/** In whose name a transaction runs; `nobody` sees no row and may call the definer functions only. */
export type TransactionActor = { tenantId: string; userId: string; role: Role } | "nobody";

/**
 * The only way to the database. A transaction is opened as (tenant, user, role), which is all
 * that row-level security looks at; outside of one nothing can be queried. While the database is away, as when it
 * is restarted, everything waits for it and is done then: the work of a transaction may run again, after an attempt
 * that was rolled back.
 */
export interface Database {
  transaction<Result>(actor: TransactionActor, work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * One statement, one round trip, as nobody: only for functions that set for themselves in whose name
   * they act. Parameters keep their type; JSON is passed as text. One whose answer was lost may have been done: it
   * fails, unless it is `repeatable`.
   */
  call<Row extends object>(
    statement: string,
    parameters: readonly Parameter[],
    options?: { repeatable: boolean },
  ): Promise<Row[]>;
  /** On a connection of its own, which is opened again when it is lost; `onReady` after each opening. */
  listen(channels: readonly string[], handlers: ListenHandlers): Listener;
  /** It was looked for and did not answer. */
  isAway(): boolean;
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

export interface DatabaseOptions {
  connections?: number;
  /** How long a database that is away is waited for. */
  holdMilliseconds?: number;
  /** Aborted when the server ends: then nothing waits for a database that is away. */
  stopping?: AbortSignal;
}

export function createDatabase(applicationUrl: string, options: DatabaseOptions = {}): Database {
  const open = (more: postgres.Options<Record<string, never>>) =>
    postgres(applicationUrl, { connect_timeout: 5, backoff, onnotice: () => {}, connection, ...more });
  const availability = createAvailability({ ...options, probe: () => probe(applicationUrl) });
  const max = options.connections ?? 10;
  const guard = createConnectionGuard();
  const client = open({ max, idle_timeout: 60, onclose: guard.onclose });
  // What a person waits for goes over few connections that stay: a new one takes as long to log in and to plan
  // its first functions as a whole turn does afterwards, and postgres.js takes them in turn.
  const callers = open({ max: Math.min(options.connections ?? 10, maxCallers), max_lifetime: callerSeconds });
  const database: PostgresJsDatabase<typeof schema> = drizzle(preparing(client), { schema });

  return {
    transaction(actor, work) {
      let isDone = false;
      const run = () =>
        database.transaction(async (tx) => {
          if (guard.seen < max) introduce(tx, guard);
          nameActor(tx, actor);
          const result = await work(tx);
          isDone = true;
          return result;
        });
      // Broken off before the work was done, it was rolled back; afterwards it may have been committed.
      return availability.hold(run, () => isDone);
    },
    call: <Row extends object>(
      statement: string,
      parameters: readonly Parameter[],
      { repeatable } = { repeatable: false },
    ) =>
      availability.hold(
        async () => [...(await callers.unsafe<Row[]>(statement, [...parameters], { prepare: true }))],
        (error) => !repeatable && isBrokenOff(error),
      ),
    listen: (channels, handlers) =>
      openListener({ url: applicationUrl, channels, handlers, onLost: () => availability.look() }),
    isAway: () => availability.isAway(),
    ping: () => availability.ping(),
    async close() {
      availability.close();
      await Promise.all([client, callers].map((one) => one.end({ timeout: 5 })));
    },
  };
}

/** Seconds until the pool connects again after so many failures: soon, since people wait. */
const backoff = (failures: number) => Math.min(0.05 * 2 ** failures, 1);

/** Over a connection of its own: those of the pool may have to wait before they try again. */
async function probe(url: string): Promise<void> {
  const client = postgres(url, { max: 1, connect_timeout: 2, fetch_types: false, onnotice: () => {} });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = Object.assign(new Error("The database did not answer."), { code: "DATABASE_LATE" });
    timer = setTimeout(() => reject(error), 2_000);
  });
  const answer = client`select 1`.then(() => {});
  try {
    await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    await client.end({ timeout: 0 }).catch(() => {});
  }
}

const naming =
  "select set_config('dormouse.tenant_id', $1, true), set_config('dormouse.user_id', $2, true), set_config('dormouse.role', $3, true)";

/**
 * Sent, not waited for: statements of one connection run in the order they were sent, so the first of
 * the work already runs as the actor and costs no round trip more. Should it fail, the transaction does.
 */
function nameActor(tx: Transaction, actor: TransactionActor): void {
  const { tenantId, userId, role } = actor === "nobody" ? { tenantId: "", userId: "", role: "" } : actor;
  clientOf(tx)
    .unsafe(naming, [tenantId, userId, role])
    .execute()
    .catch(() => {});
}

/** Only a statement without parameters shows its connection each time. Sent along, it costs no round trip. */
function introduce(tx: Transaction, { onexecute }: ConnectionGuard): void {
  clientOf(tx)
    .unsafe("select", [], { onexecute } as object)
    .execute()
    .catch(() => {});
}

function clientOf(tx: Transaction): postgres.TransactionSql {
  return (tx as unknown as { session: { client: postgres.TransactionSql } }).session.client;
}

/**
 * drizzle asks for the types of a statement's parameters each time, which is a round trip of its own,
 * unless the statement is a prepared one. And a transaction that is over, since its connection was lost, takes no more
 * of them: that connection may be another's by then.
 */
function preparing<Client extends postgres.Sql | postgres.TransactionSql>(
  client: Client,
  isOver = () => false,
): Client {
  type Begin = (work: (inner: postgres.TransactionSql) => unknown) => unknown;
  return new Proxy(client, {
    get(target, key) {
      if (key === "unsafe") {
        return (text: string, values?: Parameter[], options?: object) => {
          if (isOver()) throw new Error("The transaction is over.");
          return target.unsafe(text, values, { ...options, prepare: true });
        };
      }
      const value: unknown = Reflect.get(target, key);
      if (key !== "begin" && key !== "savepoint") return value;
      return async (work: (inner: postgres.TransactionSql) => unknown) => {
        let over = false;
        try {
          return await (value as Begin)((inner) => work(preparing(inner, () => over || isOver())));
        } finally {
          over = true;
        }
      };
    },
  });
}
