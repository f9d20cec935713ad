import { createPublicKey, sign, verify } from "node:crypto";
import { expect, it } from "vitest";
import { createSigningKey } from "./signing-key.ts";

it("is the same for the same seed, and signs what its public half verifies", () => {
  const { privateKey, publicKey } = createSigningKey(Buffer.alloc(32, 7));
  expect(createSigningKey(Buffer.alloc(32, 7)).publicKey).toBe(publicKey);
  expect(createSigningKey(Buffer.alloc(32, 8)).publicKey).not.toBe(publicKey);
  const signature = sign(null, Buffer.from("words"), privateKey);
  const known = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
  expect(verify(null, Buffer.from("words"), known, signature)).toBe(true);
});
