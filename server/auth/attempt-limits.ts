import type { Database } from "../../db/client.ts";
import { countAttempt, forgetAttempts } from "../../db/queries/sign-in-rows.ts";
import { AppError } from "../errors.ts";

const windowSeconds = 15 * 60;
const perAccount = 10;
const perAddress = 100;

/**
 * Bounds guessing, by account and by client address, in the database so that replicas count
 * together. An attempt is counted before it is tried; a right one forgets its account's count.
 */
export interface AttemptLimits {
  /** Throws `limit-exceeded`, saying how long to wait. */
  count(attempt: { account: string; clientAddress: string }): Promise<void>;
  forget(attempt: { account: string; clientAddress: string }): Promise<void>;
}

export function createAttemptLimits(database: Database): AttemptLimits {
  const keys = (attempt: { account: string; clientAddress: string }) => ({
    account: `account:${attempt.account.slice(0, 320)}`,
    address: `address:${attempt.clientAddress}`,
  });
  return {
    async count(attempt) {
      const { account, address } = keys(attempt);
      const seconds = await database.transaction("nobody", async (tx) => {
        const byAddress = await countAttempt(tx, { key: address, allowed: perAddress, windowSeconds });
        // An address that is over its limit may not use up an account's as well.
        if (byAddress > 0) return byAddress;
        return countAttempt(tx, { key: account, allowed: perAccount, windowSeconds });
      });
      if (seconds === 0) return;
      throw new AppError("limit-exceeded", `Too many attempts. Wait ${inWords(seconds)} and try again.`);
    },
    async forget(attempt) {
      await database.transaction("nobody", (tx) => forgetAttempts(tx, keys(attempt).account));
    },
  };
}

function inWords(seconds: number): string {
  if (seconds < 90) return `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
