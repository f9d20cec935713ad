import type { Database } from "../../db/client.ts";
import type { AttemptLimits } from "../auth/attempt-limits.ts";
import type { PasswordCost } from "../lib/password-hash.ts";
import { createPeople } from "./create-people.ts";
import { createFirstRun } from "./first-run.ts";
import type { Accounts, IsolationFound } from "./index.ts";
import { createInvites } from "./invites.ts";
import { createProfile } from "./profile.ts";

export interface AccountsOptions {
  database: Database;
  limits: AttemptLimits;
  publicUrl: string;
  /** What the first run asks for: who has it can read the terminal or the configuration of this server. */
  setupCode: string;
  isolation: IsolationFound;
  /** For tests alone, which make many accounts: no configuration leads here. */
  passwordCost?: PasswordCost;
}

export function createAccounts(options: AccountsOptions): Accounts {
  return { ...createFirstRun(options), ...createInvites(options), ...createPeople(options), ...createProfile(options) };
}
