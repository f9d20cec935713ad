import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Who calls, known by the sandbox token. */
export interface SandboxCaller {
  sandboxId: string;
  tenantId: string;
  userId: string;
}

export interface Gateway {
  /** `/api/llm/{provider}/…`. True when the request was its own. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** CONNECT from a sandbox: checked against the egress rules, then tunnelled. */
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /**
   * The opencode.json of a tenant: its enabled models, or the demo model. No key is in it, and model
   * addresses begin with `sidecarOrigin`, which the sidecar replaces by its own loopback address.
   */
  agentConfig(caller: { tenantId: string; userId: string }): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}
