import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Viewer } from "../auth/index.ts";

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

/** What sandboxes of a tenant may reach of what the server allows: all of it, or listed hosts only. */
export const networkRules = ["public", "listed"] as const;
export type NetworkRule = (typeof networkRules)[number];

export interface NetworkChoice {
  rule: NetworkRule;
  /** `host` or `*.host`, with or without a port. Kept while the rule is `public`. */
  hosts: string[];
}

export interface NetworkSettings extends NetworkChoice {
  /** The bound that the server's own configuration sets. */
  server: { internet: boolean; exceptions: string[] };
}

/** Reading is for everyone of the tenant, changing for admins. New connections follow a change within 5 seconds. */
export interface Network {
  settings(viewer: Viewer): Promise<NetworkSettings>;
  /** Throws `invalid-input` naming the first host that is none. Returns what was stored. */
  choose(viewer: Viewer, choice: NetworkChoice): Promise<NetworkChoice>;
}
