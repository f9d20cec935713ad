import type { Readable } from "node:stream";
import type { StoreKey } from "./store-key.ts";

export type ByteStream = Readable;

/** What can be written: a Node stream, a web stream or a generator. */
export type ByteSource = AsyncIterable<Uint8Array>;

/** What the writer knows of an object; kept in the row that refers to it. */
export interface StoredObject {
  key: StoreKey;
  bytes: number;
  /** Of the whole, in hexadecimal. */
  sha256: string;
  /**
   * How this store itself names the content, where that is not the SHA-256 of the whole: S3 keeps, of an object
   * that was sent in parts, only the digest of the parts' digests. With it `verify` need not read the bytes.
   */
  checksum: string | null;
}

export interface StoredEntry {
  key: StoreKey;
  bytes: number;
  modifiedAt: Date;
}

export type ExpectedObject = Pick<StoredObject, "bytes" | "sha256"> & Partial<Pick<StoredObject, "checksum">>;

export type Verdict = "intact" | "missing" | "damaged";

export interface ReadOptions {
  signal: AbortSignal;
  /** From `offset`, to the end when no length is given. Beginning past the end is `invalid-input`. */
  range?: { offset: number; length?: number };
}

/**
 * Durable objects, owned by the server alone. Everything streams: memory does not grow with an object.
 *
 * Every call is bounded by the store's own limits. A store that cannot answer (unreachable, too slow, full,
 * refusing us) is `unavailable`; one that answers nonsense is `upstream`. An aborted call throws the signal's
 * reason. A key is a file or a folder, never both: `a/b` beside `a` may be refused as a `conflict`.
 */
export interface FileStore {
  /**
   * Durable and digest-verified once resolved: the store compares what it keeps with what it was given, once, so
   * that callers need not; other bytes are `upstream`. Until then, and if it fails, the key is what it was. (Only a
   * store that falls silent at the very last step, or keeps other bytes than it took, leaves open what is there.)
   * A repeated key replaces the object, atomically; of two writers the later one wins. The body is read once, no
   * faster than it can be stored, and ended on every way out; its own error is passed on as it is.
   */
  write(key: StoreKey, body: ByteSource, signal: AbortSignal): Promise<StoredObject>;
  /**
   * Null when absent. The stream shows one object to its end, even when the key is replaced meanwhile, and ends
   * with an error rather than short. The caller reads it up or destroys it; the signal destroys it too.
   */
  read(key: StoreKey, options: ReadOptions): Promise<ByteStream | null>;
  stat(key: StoreKey, signal: AbortSignal): Promise<StoredEntry | null>;
  /** Everything below a folder, at any depth, ordered by key; null is the whole store. */
  list(folder: StoreKey | null, signal: AbortSignal): AsyncIterable<StoredEntry>;
  /** As a write that replaces `to`, atomically, without the bytes passing through here if the store can. False when `from` is absent. */
  copy(from: StoreKey, to: StoreKey, signal: AbortSignal): Promise<boolean>;
  /** Whether what lies in the store now is still what was written; for objects that have lain there for a while. */
  verify(key: StoreKey, expected: ExpectedObject, signal: AbortSignal): Promise<Verdict>;
  /** Idempotent; durable once resolved. */
  remove(key: StoreKey, signal: AbortSignal): Promise<void>;
  /**
   * Removes what killed writers left behind and nobody can see. It must be older than any write may take:
   * a younger one may still be under way, in this process or in another. Returns how many there were.
   */
  sweep(options: { olderThanMilliseconds: number; signal: AbortSignal }): Promise<number>;
  /** Ends idle connections; for the owner, at the very end. */
  close(): Promise<void>;
}

export interface StoreLimits {
  /** One call to the store, with its repetitions. */
  callMilliseconds: number;
  /** Making durable what was sent: a flush to disk, or the joining of parts. */
  finishMilliseconds: number;
  /** A source or a store that gives nothing at all. */
  idleMilliseconds: number;
  /** One whole write. A sweep spares what is younger than this. */
  writeMilliseconds: number;
}

export const defaultLimits: StoreLimits = {
  callMilliseconds: 60_000,
  finishMilliseconds: 300_000,
  idleMilliseconds: 300_000,
  writeMilliseconds: 6 * 3_600_000,
};
