import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Seals small secrets with AES-256-GCM. `context` is authenticated: a sealed value moved to another row does not open. */
export interface SecretBox {
  seal(plain: string, context: string): string;
  /** Throws when the key or the context is another, or the value was changed. */
  open(sealed: string, context: string): string;
}

export function createSecretBox(key: Buffer): SecretBox {
  return {
    seal(plain, context) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return `v1.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64url")}`;
    },
    open(sealed, context) {
      const [version, encoded] = sealed.split(".");
      if (version !== "v1" || !encoded) throw new Error("A sealed value has an unknown form.");
      const bytes = Buffer.from(encoded, "base64url");
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12)).setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
    },
  };
}
