import { createTestDatabase, type TestDatabase } from "../../db/test-database.ts";
import { createAttemptLimits } from "../auth/attempt-limits.ts";
import { createAdmission } from "../auth/create-admission.ts";
import type { Admission, Viewer } from "../auth/index.ts";
import { type AccountsOptions, createAccounts } from "./create-accounts.ts";
import type { Accounts } from "./index.ts";

// Tests make many accounts, and guess many passwords.
const passwordCost = { N: 16, r: 8, p: 1 };

export const adminInput = {
  tenantName: "Hazel Wood",
  name: "Ada",
  email: "ada@example.org",
  password: "a long enough password",
  setupCode: "ABCD-EFGH-JKMN",
  clientAddress: "192.0.2.1",
};

export interface TestAccounts extends TestDatabase {
  accounts: Accounts;
  admission: Admission;
  signIn(email: string, password?: string): Promise<Viewer>;
  /** Invites and accepts: a further person of the admin's tenant. */
  addPerson(admin: Viewer, email: string, role?: "admin" | "user"): Promise<Viewer>;
}

/** Real services on a real database; nobody has an account yet. */
export async function createTestAccounts(options: Partial<AccountsOptions> = {}): Promise<TestAccounts> {
  const test = await createTestDatabase();
  const limits = createAttemptLimits(test.database);
  const accounts = createAccounts({
    database: test.database,
    limits,
    publicUrl: "https://dormouse.example",
    setupCode: adminInput.setupCode,
    isolation: { kind: "sandboxed", detail: "tried" },
    passwordCost,
    ...options,
  });
  const admission = createAdmission({ database: test.database, limits, passwordCost });

  const signIn: TestAccounts["signIn"] = async (email, password = adminInput.password) => {
    const id = await admission.signIn({ email, password, clientAddress: "192.0.2.1", userAgent: "test" });
    const viewer = await admission.findViewer(id);
    if (!viewer) throw new Error("signed in, but not found");
    return viewer;
  };

  return {
    ...test,
    accounts,
    admission,
    signIn,
    async addPerson(admin, email, role = "user") {
      const { url } = await accounts.createInvite(admin, { role, note: "" });
      const token = url.slice(url.lastIndexOf("/") + 1);
      await accounts.acceptInvite({
        token,
        name: email,
        email,
        password: adminInput.password,
        clientAddress: "192.0.2.2",
      });
      return signIn(email);
    },
  };
}
