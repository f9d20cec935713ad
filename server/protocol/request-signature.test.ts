import { generateKeyPairSync, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { hashBody, isDownloadProof, isUploadSignature, proveDownload, signUpload } from "./request-signature.ts";

describe("the trailer of a streamed body", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const upload = { sandboxId: "s", bootId: "b", nonce: "n".repeat(24), bodyHash: hashBody("body") };
  const signature = signUpload(upload, privateKey);

  it("of an upload holds for its own request and body", () => {
    expect(isUploadSignature(upload, signature, publicKey)).toBe(true);
  });

  it.each(["sandboxId", "bootId", "nonce", "bodyHash"])("of an upload does not hold with another %s", (field) => {
    expect(isUploadSignature({ ...upload, [field]: "other" }, signature, publicKey)).toBe(false);
  });

  it.each(["", "AAAA", "not base64 at all", signature.slice(1)])("of an upload is never %j", (given) => {
    expect(isUploadSignature(upload, given, publicKey)).toBe(false);
  });

  it("of an upload is the server's alone", () => {
    expect(isUploadSignature(upload, signUpload(upload, generateKeyPairSync("ed25519").privateKey), publicKey)).toBe(
      false,
    );
  });

  const secret = randomBytes(32);
  const download = { nonce: "n".repeat(24), bodyHash: hashBody("body"), note: "note" };
  const proof = proveDownload(download, secret);

  it("of a download holds for its own nonce, body and note, under its own secret", () => {
    expect(isDownloadProof(download, proof, secret)).toBe(true);
    expect(isDownloadProof(download, proof, randomBytes(32))).toBe(false);
    expect(isDownloadProof(download, "", secret)).toBe(false);
  });

  it.each(["nonce", "bodyHash", "note"])("of a download does not hold with another %s", (field) => {
    expect(isDownloadProof({ ...download, [field]: "other" }, proof, secret)).toBe(false);
  });
});
