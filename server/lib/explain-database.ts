import type { Database } from "../../db/client.ts";
import { errorCode } from "../../db/database-problem.ts";
import { faultError, isAppError } from "../errors.ts";
import type { CauseName } from "../protocol/causes.ts";

/** The database's edge: what it fails with is said in words. What its rows refuse is its users' business. */
export function explainDatabase(database: Database): Database {
  return {
    ...database,
    transaction: (actor, work) => explained(() => database.transaction(actor, work)),
    call: (statement, parameters, options) => explained(() => database.call(statement, parameters, options)),
    ping: () => explained(() => database.ping()),
  };
}

async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const fault = isAppError(error) ? null : faultOf(errorCode(error) ?? "");
    throw fault ? faultError(fault, { cause: error, code: "database" }) : error;
  }
}

const away = new Set([
  // Of the driver and of the network.
  ...["CONNECTION_CLOSED", "CONNECTION_ENDED", "CONNECTION_DESTROYED", "CONNECT_TIMEOUT"],
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENOENT", "ENOTFOUND"],
  "EAI_AGAIN",
  // Of Postgres: it ends, crashed, begins, has no connection left, or hung up on one that stood still.
  ...["57P01", "57P02", "57P03", "57P05", "53300", "25P03", "25P04"],
]);
const late = new Set(["57014", "55P03", "DATABASE_LATE"]);
const full = new Set(["53000", "53100", "53200", "58030"]);

function faultOf(code: string): CauseName | null {
  if (away.has(code) || code.startsWith("08")) return "database-away";
  if (late.has(code)) return "database-late";
  return full.has(code) ? "database-full" : null;
}
