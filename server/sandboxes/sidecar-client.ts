import type { Readable } from "node:stream";
import type {
  FreezeHolds,
  NumberedEvent,
  Quiesced,
  Resumed,
  SandboxActivity,
  SidecarHealth,
} from "../protocol/sidecar.ts";

export interface SidecarRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With query. */
  path: string;
  body?: string | Uint8Array | undefined;
  contentType?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Until the answer's headers; 30 s when not given. */
  timeoutMilliseconds?: number | undefined;
  signal: AbortSignal;
}

export interface SidecarAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Readable;
}

/** A body of any length, in or out. Both directions are vouched for by a trailer (ARCHITECTURE.md, invariant 19). */
export interface SidecarUpload {
  method: "POST" | "PUT";
  path: string;
  body: AsyncIterable<Uint8Array>;
  /** From the end of the body until the answer; 5 min when not given. */
  timeoutMilliseconds?: number | undefined;
  signal: AbortSignal;
}

export interface SidecarDownload {
  method: "GET" | "POST";
  path: string;
  /** Until the first byte; 5 min when not given. */
  timeoutMilliseconds?: number | undefined;
  signal: AbortSignal;
}

export interface DownloadedStream {
  /** 204 and 304 come without anything to read. */
  status: 200 | 204 | 304;
  /**
   * Throws `upstream` at its end unless the trailer proves every byte, and when the stream was cut: until
   * it has ended well, nothing may be made of what came.
   */
  body: AsyncIterable<Buffer>;
  /** What the sidecar notes in the trailer; after the end of `body`. */
  note(): unknown;
}

/**
 * One sandbox's sidecar, as the server sees it. Every request is signed, every answer's proof is
 * checked: an answer of anybody else is an `upstream` error. Connection failures are `unavailable`,
 * late answers `timeout`; a refusal by the sidecar carries its own kind and message.
 */
export interface SidecarClient {
  readonly sandboxId: string;
  readonly bootId: string;
  health(signal: AbortSignal): Promise<SidecarHealth>;
  /** Raw: any status, streamed. Used for the agent proxy and for files. */
  send(request: SidecarRequest): Promise<SidecarAnswer>;
  /** JSON in and out; a status of 400 or more throws. */
  json<Result>(request: Omit<SidecarRequest, "body"> & { json?: unknown }): Promise<Result>;
  /** Streams a body to the sidecar, which makes nothing of it before its end was proved; gives its JSON answer. */
  upload<Result>(request: SidecarUpload): Promise<Result>;
  /** Streams a body from the sidecar; a refusal throws. */
  download(request: SidecarDownload): Promise<DownloadedStream>;
  /** Opens the gate where there is no history to restore. */
  markRestored(signal: AbortSignal): Promise<void>;
  /** Waits until the agent runs; throws `unavailable` with opencode's last words when it does not come up. */
  waitForAgent(signal: AbortSignal): Promise<void>;
  /** With `config`, opencode.json is replaced first. */
  restartAgent(input: { config?: Record<string, unknown> }, signal: AbortSignal): Promise<void>;
  /**
   * Makes the session's directory: a git repository with a root commit. Idempotent. Returns its path as the agent sees
   * it. One that stands may be archived meanwhile; a restore or removal that is under way is waited for.
   */
  prepareWorkspace(sessionId: string, signal: AbortSignal): Promise<{ directory: string }>;
  removeWorkspace(sessionId: string, signal: AbortSignal): Promise<void>;
  /**
   * Freezes the agent and all that it started. Idempotent while that holds. Throws when something does not stand still
   * in time; then all of it goes on. While it is frozen, what is asked of the agent is refused (fault `agent-frozen`).
   */
  quiesce(signal: AbortSignal): Promise<Quiesced>;
  /** Idempotent. */
  resume(signal: AbortSignal): Promise<Resumed>;
  /** Whether nothing of the agent has moved since; as every request, it also puts off the thaw by itself. */
  freezeHolds(freezeId: string, signal: AbortSignal): Promise<FreezeHolds>;
  activity(signal: AbortSignal): Promise<SandboxActivity>;
  /** Ends with an error when the connection is lost; the caller reconnects after the last number it applied. */
  events(after: number, signal: AbortSignal): AsyncIterable<NumberedEvent>;
}
