import type { ProviderKind } from "../models/index.ts";

/** What may be called of a provider: what opencode needs to answer, and nothing that manages an account. */
const allowed: Record<ProviderKind, readonly string[]> = {
  openai: ["POST chat/completions", "POST responses", "GET models"],
  "openai-compatible": ["POST chat/completions", "POST responses", "GET models"],
  anthropic: ["POST messages", "POST messages/count_tokens", "GET models"],
};

export interface GatewayRoute {
  providerId: string;
  /** Below the provider's base address, exactly as it came. */
  path: string;
}

const prefix = "/api/llm/";

/** Of one model call, with all of its conversation and pictures. */
export const maxRequestBytes = 50 * 1024 * 1024;

export function isGatewayPath(url: string): boolean {
  return url.startsWith(prefix);
}

/** Null for anything else below the prefix. The path is compared as it is, so nothing in it can be encoded away. */
export function parseRoute(url: string): GatewayRoute | null {
  const [, providerId, path] = /^\/api\/llm\/([A-Za-z0-9-]{1,64})\/([a-z_/]{1,64})(?:\?.*)?$/.exec(url) ?? [];
  return providerId && path ? { providerId, path } : null;
}

export function isAllowed(kind: ProviderKind, method: string, path: string): boolean {
  return allowed[kind].includes(`${method} ${path}`);
}
