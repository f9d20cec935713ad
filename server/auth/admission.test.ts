import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminInput, createTestAccounts, type TestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "./actor.ts";

let test: TestAccounts;
let admin: Viewer;

beforeAll(async () => {
  test = await createTestAccounts();
  await test.accounts.completeFirstRun(adminInput);
  admin = await test.signIn(adminInput.email);
});
afterAll(() => test[Symbol.asyncDispose]());

const attempt = (email: string, password: string, clientAddress: string) =>
  test.admission.signIn({ email, password, clientAddress, userAgent: "" });

describe("signing in", () => {
  it("gives a viewer with tenant and role, whatever the case of the email", async () => {
    expect(await test.signIn(" ADA@Example.ORG ")).toMatchObject({
      name: "Ada",
      role: "admin",
      tenantName: "Hazel Wood",
      email: "ada@example.org",
    });
  });

  it("says the same for a wrong password and for an account that does not exist", async () => {
    const wrong = await attempt(adminInput.email, "wrong password", "192.0.2.20").catch((error: unknown) => error);
    const unknown = await attempt("nobody@example.org", "wrong password", "192.0.2.20").catch(
      (error: unknown) => error,
    );
    expect(wrong).toMatchObject({ kind: "unauthenticated" });
    expect((unknown as Error).message).toBe((wrong as Error).message);
  });

  it("refuses a forged, malformed, expired or revoked id at once", async () => {
    expect(await test.admission.findViewer("00000000-0000-4000-8000-000000000000")).toBeNull();
    expect(await test.admission.findViewer("'; drop table users; --")).toBeNull();
    const expired = await test.signIn(adminInput.email);
    const owner = postgres(test.ownerUrl);
    await owner`update auth_sessions set expires_at = now() where id = ${expired.authSessionId}`;
    await owner.end();
    expect(await test.admission.findViewer(expired.authSessionId)).toBeNull();
    const left = await test.signIn(adminInput.email);
    await test.admission.signOut(left);
    await test.admission.signOut(left);
    expect(await test.admission.findViewer(left.authSessionId)).toBeNull();
    expect(await test.admission.findViewer(admin.authSessionId)).not.toBeNull();
  });
});

// A hundred memory-hard hashes take their time on a small or busy machine.
describe("a thousand wrong passwords", { timeout: 180_000 }, () => {
  it("get ten tries at one account, all together and from any address", async () => {
    const person = await test.addPerson(admin, "bo@example.org");
    const outcomes = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        attempt(person.email, `guess ${index}`, `198.51.100.${index % 250}`).catch(
          (error: { kind: string }) => error.kind,
        ),
      ),
    );
    expect(outcomes.filter((kind) => kind === "unauthenticated")).toHaveLength(10);
    expect(outcomes.filter((kind) => kind === "limit-exceeded")).toHaveLength(990);
    await expect(attempt(person.email, adminInput.password, "203.0.113.1")).rejects.toThrow(/Wait 1\d minutes/);
    expect(await test.admission.findViewer(person.authSessionId)).not.toBeNull();
  });

  it("get a hundred tries from one address, and do not lock the accounts they aimed at", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 150 }, (_, index) =>
        attempt(`victim${index}@example.org`, "guess", "203.0.113.7").catch((error: { kind: string }) => error.kind),
      ),
    );
    expect(outcomes.filter((kind) => kind === "unauthenticated")).toHaveLength(100);
    await expect(attempt(adminInput.email, adminInput.password, "203.0.113.7")).rejects.toMatchObject({
      kind: "limit-exceeded",
    });
    expect(await attempt(adminInput.email, adminInput.password, "203.0.113.8")).toEqual(expect.any(String));
  });

  it("are forgotten after a right one", async () => {
    const person = await test.addPerson(admin, "cy@example.org");
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 8; index += 1) {
        await expect(attempt(person.email, "wrong", "192.0.2.77")).rejects.toMatchObject({ kind: "unauthenticated" });
      }
      await attempt(person.email, adminInput.password, "192.0.2.77");
    }
  });
});
