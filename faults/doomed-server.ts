import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { createDatabase, type Database, type Transaction } from "../db/client.ts";
import { isAppError } from "../server/errors.ts";
import { wireTestServer } from "../server/turns/test-wiring.ts";
import type { Doom } from "./doomed-servers.ts";

/**
 * A server of its own that begins turns, says their ids, and then waits to be killed. With `pauseBefore` it stands
 * still by itself, as a machine does that is suspended, just before the first statement that holds these words.
 */
const { setup, viewer, sessionId, asks, pauseBefore = null } = JSON.parse(process.argv[2] ?? "") as Doom;
const { services, resume } = await wireTestServer(setup, { createDatabase: openDatabase });
await resume(AbortSignal.timeout(30_000));
const turnIds: (string | null)[] = [];
for (const asked of asks) turnIds.push(await begin(asked));
console.log(JSON.stringify(turnIds));
setInterval(() => {}, 60_000);

/** Null where it is refused. */
async function begin({ kind, prompt }: Doom["asks"][number]): Promise<string | null> {
  const key = { sessionId, idempotencyKey: crypto.randomUUID() };
  try {
    const { turns } = services;
    return (await (kind === "prompt" ? turns.start(viewer, { ...key, prompt }) : turns[kind](viewer, key))).id;
  } catch (error) {
    if (!isAppError(error) || error.kind !== "conflict") throw error;
    return null;
  }
}

function openDatabase(url: string): Database {
  const database = createDatabase(url);
  const dialect = new PgDialect();
  let isToPause = pauseBefore !== null;
  const watched = (tx: Transaction) =>
    new Proxy(tx, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (key !== "execute") return value;
        return (query: SQL) => {
          if (isToPause && dialect.sqlToQuery(query).sql.includes(pauseBefore ?? "")) {
            isToPause = false;
            process.kill(process.pid, "SIGSTOP");
          }
          return target.execute(query);
        };
      },
    });
  return { ...database, transaction: (actor, work) => database.transaction(actor, (tx) => work(watched(tx))) };
}
