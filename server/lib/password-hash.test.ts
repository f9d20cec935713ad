import { describe, expect, it } from "vitest";
import { hashPassword, verifyNothing, verifyPassword } from "./password-hash.ts";

describe("password hashes", () => {
  it("accept the password they were made from and no other", async () => {
    const hash = await hashPassword("correct horse battery");
    expect(await verifyPassword("correct horse battery", hash)).toBe(true);
    expect(await verifyPassword("correct horse batterz", hash)).toBe(false);
  });

  it("carry their parameters and a salt of their own", async () => {
    const [first, second] = await Promise.all([hashPassword("same"), hashPassword("same")]);
    expect(first).toMatch(/^scrypt\$65536\$8\$1\$/);
    expect(first).not.toBe(second);
  });

  it("treat composed and decomposed characters as the same password", async () => {
    expect(await verifyPassword("cafe\u0301 au lait", await hashPassword("caf\u00e9 au lait"))).toBe(true);
  });

  it("refuse a stored value of an unknown form, and never accept for nobody", async () => {
    expect(await verifyPassword("x", "md5$abc")).toBe(false);
    expect(await verifyNothing("x")).toBe(false);
  });
});
