import { createHash, createHmac, type KeyObject, sign, timingSafeEqual, verify } from "node:crypto";

/**
 * How server and sidecar recognise each other (ARCHITECTURE.md, invariant 19). A request is signed with the server's
 * Ed25519 key for one sandbox, one boot, one lease, method, path with query, body, once, within 60 s. A
 * server whose lease another one has taken over is refused. An answer carries an HMAC by the boot's secret over the request's nonce, so that it cannot be anybody else's.
 */
export const signatureHeaders = {
  signature: "x-dormouse-signature",
  issuedAt: "x-dormouse-issued-at",
  nonce: "x-dormouse-nonce",
  bodyHash: "x-dormouse-body-sha256",
  leaseEpoch: "x-dormouse-lease-epoch",
  answer: "x-dormouse-answer",
} as const;

/** What follows a streamed body; the hash has the name that it has as a header. */
export const streamTrailers = {
  bodyHash: signatureHeaders.bodyHash,
  /** Of an upload: the server's signature. Of a download: the proof by the boot's secret. */
  bodyProof: "x-dormouse-body-proof",
  /** Of a download: what the sidecar learned while it was streaming; proved together with the hash. */
  note: "x-dormouse-note",
} as const;

export const signatureLifetimeMilliseconds = 60_000;
/** Stands for the hash where the body is a stream; its hash then follows in a trailer. */
export const streamedBody = "stream";

export interface SignedRequest {
  sandboxId: string;
  bootId: string;
  method: string;
  /** With the query, as on the request line. */
  path: string;
  issuedAt: number;
  nonce: string;
  /** SHA-256 in hex, or `stream`. */
  bodyHash: string;
  /** Of the lease that the server holds; 0 where none was given. */
  leaseEpoch?: number | undefined;
}

export function hashBody(body: string | Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

export function signRequest(request: SignedRequest, privateKey: KeyObject): string {
  return sign(null, Buffer.from(canonical(request)), privateKey).toString("base64url");
}

export function isSignatureOf(request: SignedRequest, signature: string, publicKey: KeyObject): boolean {
  const bytes = Buffer.from(signature, "base64url");
  return bytes.length === 64 && verify(null, Buffer.from(canonical(request)), publicKey, bytes);
}

export interface SignedAnswer {
  nonce: string;
  status: number;
  /** SHA-256 in hex, or `stream`. */
  bodyHash: string;
}

export function proveAnswer({ nonce, status, bodyHash }: SignedAnswer, bootSecret: Uint8Array): string {
  const proof = createHmac("sha256", bootSecret).update(`dormouse-answer-v1\n${nonce}\n${status}\n${bodyHash}`);
  return `${bodyHash}.${proof.digest("base64url")}`;
}

/** `bodyHash` still has to be compared with the body that came, unless it is `stream`. */
export function checkAnswer(
  header: string,
  { nonce, status }: { nonce: string; status: number },
  bootSecret: Uint8Array,
): { bodyHash: string } | null {
  const [bodyHash = ""] = header.split(".", 1);
  const expected = Buffer.from(proveAnswer({ nonce, status, bodyHash }, bootSecret));
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected) ? { bodyHash } : null;
}

export interface StreamedUpload {
  sandboxId: string;
  bootId: string;
  /** Of the request that the body belongs to. */
  nonce: string;
  /** SHA-256 in hex of all that was sent. */
  bodyHash: string;
}

export function signUpload(upload: StreamedUpload, privateKey: KeyObject): string {
  return sign(null, Buffer.from(canonicalUpload(upload)), privateKey).toString("base64url");
}

export function isUploadSignature(upload: StreamedUpload, signature: string, publicKey: KeyObject): boolean {
  const bytes = Buffer.from(signature, "base64url");
  return bytes.length === 64 && verify(null, Buffer.from(canonicalUpload(upload)), publicKey, bytes);
}

export interface StreamedDownload {
  nonce: string;
  bodyHash: string;
  note: string;
}

export function proveDownload({ nonce, bodyHash, note }: StreamedDownload, bootSecret: Uint8Array): string {
  const proof = createHmac("sha256", bootSecret).update(`dormouse-download-v1\n${nonce}\n${bodyHash}\n${note}`);
  return proof.digest("base64url");
}

export function isDownloadProof(download: StreamedDownload, proof: string, bootSecret: Uint8Array): boolean {
  const expected = Buffer.from(proveDownload(download, bootSecret));
  const given = Buffer.from(proof);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function canonicalUpload({ sandboxId, bootId, nonce, bodyHash }: StreamedUpload): string {
  return ["dormouse-upload-v1", sandboxId, bootId, nonce, bodyHash].join("\n");
}

function canonical(request: SignedRequest): string {
  const { sandboxId, bootId, leaseEpoch = 0, method, path, issuedAt, nonce, bodyHash } = request;
  const named = [sandboxId, bootId, leaseEpoch, method.toUpperCase(), path, issuedAt, nonce, bodyHash];
  return ["dormouse-request-v2", ...named].join("\n");
}
