import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";

/** With which the server signs its requests to every sidecar (ARCHITECTURE.md, invariant 19). */
export interface SigningKey {
  privateKey: KeyObject;
  /** SPKI in base64: all that a sandbox knows of it. */
  publicKey: string;
}

// The DER of a PKCS #8 Ed25519 key up to its 32 bytes, which Node does not take bare.
const prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/** The same seed gives the same key, on every replica and after every restart. */
export function createSigningKey(seed: Buffer): SigningKey {
  if (seed.length !== 32) throw new Error("An Ed25519 seed has 32 bytes.");
  const privateKey = createPrivateKey({ key: Buffer.concat([prefix, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" }).toString("base64");
  return { privateKey, publicKey };
}
