import { timingSafeEqual } from "node:crypto";
import { sql } from "drizzle-orm";
import { AppError } from "../errors.ts";
import { parseInput } from "../lib/parse-input.ts";
import { hashPassword } from "../lib/password-hash.ts";
import { person, tenantName } from "./account-input.ts";
import type { AccountsOptions } from "./create-accounts.ts";
import type { Accounts } from "./index.ts";

const schema = person.extend({ tenantName });

export function createFirstRun({
  database,
  limits,
  setupCode,
  isolation,
  passwordCost,
}: AccountsOptions): Pick<Accounts, "firstRun" | "completeFirstRun"> {
  // Once a tenant exists there is never a first run again, so a "no" may be remembered.
  let done = false;

  async function pending(): Promise<boolean> {
    if (done) return false;
    const rows = await database.transaction("nobody", (tx) => tx.execute(sql`select first_run_pending() as pending`));
    done = rows[0]?.pending === false;
    return !done;
  }

  return {
    async firstRun() {
      return (await pending()) ? { isolation } : null;
    },

    async completeFirstRun(input) {
      if (!(await pending())) throw alreadyDone();
      const { email, name, password, tenantName: tenant } = parseInput(schema, input);
      await limits.count({ account: "set-up code", clientAddress: input.clientAddress });
      if (!sameCode(input.setupCode, setupCode)) {
        throw new AppError(
          "forbidden",
          "That set-up code is wrong. It is in the terminal where Dormouse was started, or in its configuration.",
        );
      }
      if (isolation.kind === "host" && input.hostConsent !== true) {
        throw new AppError(
          "invalid-input",
          "This machine cannot isolate the agent, so it would run as a plain process. Confirm that you agree to that.",
        );
      }
      const hash = await hashPassword(password, passwordCost);
      const consent = isolation.kind === "host";
      const rows = await database.transaction("nobody", (tx) =>
        tx.execute(sql`select complete_first_run(${tenant}, ${name}, ${email}, ${hash}, ${consent}) as person`),
      );
      done = true;
      if (!rows[0]?.person) throw alreadyDone();
    },
  };
}

function alreadyDone(): AppError {
  return new AppError("conflict", "Dormouse is already set up. Sign in, or ask an admin for an invite.");
}

function sameCode(given: string, expected: string): boolean {
  const plain = (code: string) => Buffer.from(code.replaceAll(/[\s-]/g, "").toUpperCase());
  const [left, right] = [plain(given), plain(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
