import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { createDatabase, type Database, type Transaction } from "../db/client.ts";
import type { Viewer } from "../server/auth/index.ts";
import { type TestSetup, wireTestServer } from "../server/turns/test-wiring.ts";

/**
 * A server of its own that begins turns, says their ids, and then waits to be killed. With `pauseBefore` it stands
 * still by itself, as a machine does that is suspended, just before the first statement that holds these words.
 */
const { setup, viewer, sessionId, prompts, pauseBefore } = JSON.parse(process.argv[2] ?? "") as {
  setup: TestSetup;
  viewer: Viewer;
  sessionId: string;
  prompts: string[];
  pauseBefore: string | null;
};
const { services, resume } = await wireTestServer(setup, { createDatabase: openDatabase });
await resume(AbortSignal.timeout(30_000));
const turnIds: string[] = [];
for (const prompt of prompts) {
  const idempotencyKey = crypto.randomUUID();
  turnIds.push((await services.turns.start(viewer, { sessionId, prompt, idempotencyKey })).id);
}
console.log(turnIds.join(" "));
setInterval(() => {}, 60_000);

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
