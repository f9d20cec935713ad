import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAttemptLimits } from "../auth/attempt-limits.ts";
import type { Viewer } from "../auth/index.ts";
import { createAccounts } from "./create-accounts.ts";
import { resetPassword } from "./reset-password.ts";
import { adminInput, createTestAccounts, type TestAccounts } from "./test-accounts.ts";

let test: TestAccounts;
let admin: Viewer;

beforeAll(async () => {
  test = await createTestAccounts();
});
afterAll(() => test[Symbol.asyncDispose]());

describe("the first run", () => {
  it("makes one tenant and one admin, also when eight people try at once", async () => {
    expect(await test.accounts.firstRun()).toEqual({ isolation: { kind: "sandboxed", detail: "tried" } });
    const tries = Array.from({ length: 8 }, (_, index) =>
      // Each through services of its own, as separate replicas would.
      createAccounts({
        database: test.database,
        limits: createAttemptLimits(test.database),
        publicUrl: "",
        setupCode: adminInput.setupCode,
        isolation: { kind: "sandboxed", detail: "" },
      }).completeFirstRun({ ...adminInput, email: `ada${index === 0 ? "" : index}@example.org` }),
    );
    const outcomes = await Promise.allSettled(tries);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ kind: "conflict" });
    }
    const owner = postgres(test.ownerUrl);
    const people = await owner<{ email: string; role: string }[]>`select email, role from users`;
    await owner`update users set email = ${adminInput.email}`;
    await owner.end();
    expect(people).toHaveLength(1);
    expect(people[0]?.role).toBe("admin");
    admin = await test.signIn(adminInput.email);
  });

  it("is over for good afterwards", async () => {
    expect(await test.accounts.firstRun()).toBeNull();
    await expect(test.accounts.completeFirstRun(adminInput)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("already set up"),
    });
  });
});

describe("a first run", () => {
  it("asks for the set-up code, which may be typed in any case, with or without its dashes", async () => {
    await using other = await createTestAccounts();
    for (const setupCode of ["", "ABCD-EFGH-JKMM", "ABCD-EFGH-JKM"]) {
      await expect(other.accounts.completeFirstRun({ ...adminInput, setupCode })).rejects.toMatchObject({
        kind: "forbidden",
      });
    }
    await other.accounts.completeFirstRun({ ...adminInput, setupCode: "abcd efgh jkmn" });
    expect(await other.accounts.firstRun()).toBeNull();
  });

  it("bounds guessing of the set-up code", async () => {
    await using other = await createTestAccounts();
    const guess = () => other.accounts.completeFirstRun({ ...adminInput, setupCode: "WRONG" });
    for (let index = 0; index < 10; index += 1) await expect(guess()).rejects.toMatchObject({ kind: "forbidden" });
    await expect(guess()).rejects.toMatchObject({ kind: "limit-exceeded" });
  });

  it("needs explicit consent to `host`, and keeps it", async () => {
    await using other = await createTestAccounts({ isolation: { kind: "host", reason: "no bubblewrap" } });
    await expect(other.accounts.completeFirstRun(adminInput)).rejects.toMatchObject({ kind: "invalid-input" });
    await other.accounts.completeFirstRun({ ...adminInput, hostConsent: true });
    const owner = postgres(other.ownerUrl);
    const [tenant] = await owner`select host_consent_at is not null as agreed from tenants`;
    await owner.end();
    expect(tenant?.agreed).toBe(true);
  });

  it("refuses a short password, a bad email and an empty name, each with its own words", async () => {
    await using other = await createTestAccounts();
    const attempt = (change: object) => other.accounts.completeFirstRun({ ...adminInput, ...change });
    await expect(attempt({ password: "short" })).rejects.toThrow("at least 12 characters");
    await expect(attempt({ email: "nobody" })).rejects.toThrow("email address");
    await expect(attempt({ name: "  " })).rejects.toThrow("name");
    await expect(attempt({ tenantName: "" })).rejects.toThrow("organisation");
  });
});

describe("invites", () => {
  it("are used once, also when two use one at the same moment", async () => {
    const { url, invite } = await test.accounts.createInvite(admin, { role: "user", note: "for Bo" });
    expect(url).toMatch(/^https:\/\/dormouse\.example\/invite\/[\w-]{32}$/);
    expect(invite.state).toBe("open");
    const token = url.slice(url.lastIndexOf("/") + 1);
    expect(await test.accounts.findInvite(token)).toEqual({ tenantName: "Hazel Wood", role: "user", state: "open" });
    const accept = (email: string) =>
      test.accounts.acceptInvite({
        token,
        name: "Bo",
        email,
        password: adminInput.password,
        clientAddress: "192.0.2.9",
      });
    const outcomes = await Promise.allSettled([accept("bo@example.org"), accept("bob@example.org")]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(accept("bobby@example.org")).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("already used"),
    });
  });

  it("refuse an email that is taken without being used up", async () => {
    const { url } = await test.accounts.createInvite(admin, { role: "user", note: "" });
    const token = url.slice(url.lastIndexOf("/") + 1);
    const input = { token, name: "Ada", password: adminInput.password, clientAddress: "192.0.2.9" };
    await expect(test.accounts.acceptInvite({ ...input, email: "ADA@example.org" })).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("already exists"),
    });
    await test.accounts.acceptInvite({ ...input, email: "cleo@example.org" });
  });

  it("that were withdrawn, have expired or never existed say so", async () => {
    const withdrawn = await test.accounts.createInvite(admin, { role: "user", note: "" });
    await test.accounts.revokeInvite(admin, withdrawn.invite.id);
    const expired = await test.accounts.createInvite(admin, { role: "user", note: "" });
    const owner = postgres(test.ownerUrl);
    await owner`update invites set expires_at = now() - interval '1 second' where id = ${expired.invite.id}`;
    await owner.end();
    const accept = (url: string) =>
      test.accounts.acceptInvite({
        token: url.slice(url.lastIndexOf("/") + 1),
        name: "Dee",
        email: "dee@example.org",
        password: adminInput.password,
        clientAddress: "192.0.2.9",
      });
    await expect(accept(withdrawn.url)).rejects.toThrow("was revoked");
    await expect(accept(expired.url)).rejects.toThrow("has expired");
    await expect(accept("/forged-token")).rejects.toMatchObject({ kind: "not-found" });
    await expect(test.accounts.revokeInvite(admin, withdrawn.invite.id)).rejects.toMatchObject({ kind: "not-found" });
  });

  it("are an admin's to make and to see", async () => {
    const person = await test.addPerson(admin, "eve@example.org");
    await expect(test.accounts.createInvite(person, { role: "admin", note: "" })).rejects.toMatchObject({
      kind: "forbidden",
    });
    await expect(test.accounts.listInvites(person)).rejects.toMatchObject({ kind: "forbidden" });
    await expect(test.accounts.listPeople(person)).rejects.toMatchObject({ kind: "forbidden" });
  });
});

describe("a person", () => {
  it("who is disabled is signed out at once and cannot come back until enabled", async () => {
    const person = await test.addPerson(admin, "finn@example.org");
    await test.accounts.disablePerson(admin, person.userId);
    expect(await test.admission.findViewer(person.authSessionId)).toBeNull();
    await expect(test.signIn("finn@example.org")).rejects.toMatchObject({ kind: "unauthenticated" });
    await test.accounts.enablePerson(admin, person.userId);
    expect((await test.signIn("finn@example.org")).userId).toBe(person.userId);
    expect(await test.admission.findViewer(person.authSessionId)).toBeNull();
  });

  it("cannot disable themselves, and an unknown one is not found", async () => {
    await expect(test.accounts.disablePerson(admin, admin.userId)).rejects.toMatchObject({ kind: "conflict" });
    const nobody = "00000000-0000-4000-8000-000000000000";
    await expect(test.accounts.disablePerson(admin, nobody)).rejects.toMatchObject({ kind: "not-found" });
    await expect(test.accounts.enablePerson(admin, nobody)).rejects.toMatchObject({ kind: "not-found" });
    await expect(test.accounts.disablePerson(admin, "not an id")).rejects.toMatchObject({ kind: "invalid-input" });
  });

  it("changes the password with the current one only, which ends the other sign-ins", async () => {
    const here = await test.addPerson(admin, "gus@example.org");
    const elsewhere = await test.signIn("gus@example.org");
    const next = "an even longer password";
    await expect(test.accounts.changePassword(here, { current: "wrong", next })).rejects.toThrow("current password");
    await test.accounts.changePassword(here, { current: adminInput.password, next });
    expect(await test.admission.findViewer(here.authSessionId)).not.toBeNull();
    expect(await test.admission.findViewer(elsewhere.authSessionId)).toBeNull();
    await expect(test.signIn("gus@example.org")).rejects.toMatchObject({ kind: "unauthenticated" });
    await test.signIn("gus@example.org", next);
  });

  it("sees their own devices and can end one of them, but nobody else's", async () => {
    const here = await test.addPerson(admin, "hal@example.org");
    const phone = await test.signIn("hal@example.org");
    const devices = await test.accounts.listDevices(here);
    expect(devices.map(({ id }) => id).sort()).toEqual([here.authSessionId, phone.authSessionId].sort());
    expect(devices.find(({ current }) => current)?.id).toBe(here.authSessionId);
    await test.accounts.revokeDevice(here, phone.authSessionId);
    expect(await test.admission.findViewer(phone.authSessionId)).toBeNull();
    await expect(test.accounts.revokeDevice(here, admin.authSessionId)).rejects.toMatchObject({ kind: "not-found" });
    expect(await test.admission.findViewer(admin.authSessionId)).not.toBeNull();
  });

  it("who forgot the password gets a new one by the command, and their sign-ins end", async () => {
    const person = await test.addPerson(admin, "ida@example.org", "admin");
    expect(await resetPassword({ ownerUrl: test.ownerUrl, email: "nobody@example.org" })).toBeNull();
    const password = await resetPassword({ ownerUrl: test.ownerUrl, email: "IDA@example.org" });
    expect(password).toMatch(/^[\w-]{20}$/);
    expect(await test.admission.findViewer(person.authSessionId)).toBeNull();
    expect((await test.signIn("ida@example.org", password ?? "")).role).toBe("admin");
  });
});
