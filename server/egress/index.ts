import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** The way out of a sandbox: everything that is not a model or API call. */
export interface Egress {
  /**
   * Owns the socket from here on. Answers 403 with the reason, 407 without a valid sandbox token, 429
   * when the sandbox has too many tunnels, 502 or 504 when the target cannot be reached; else tunnels.
   */
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ends every tunnel. */
  close(): Promise<void>;
}
