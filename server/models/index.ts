import type { Viewer } from "../auth/index.ts";

export const providerKinds = ["openai", "anthropic", "openai-compatible"] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** What a stored key is sealed with: it opens for its own provider's row only. */
export const providerKeyContext = (id: string) => `provider-key:${id}`;

export interface Model {
  id: string;
  name: string;
  enabled: boolean;
}

export interface Provider {
  id: string;
  kind: ProviderKind;
  name: string;
  baseUrl: string;
  /** The key itself never leaves the server; this is its last four characters, or null without one. */
  keyEnding: string | null;
  models: Model[];
  lastTest: ProviderTest | null;
}

export type ProviderTest =
  | { at: Date; ok: true; modelCount: number; milliseconds: number }
  | { at: Date; ok: false; message: string };

export interface ProviderInput {
  kind: ProviderKind;
  name: string;
  /** Needed for `openai-compatible`; the others have their own. */
  baseUrl?: string | undefined;
  /** Absent keeps the stored key when editing. */
  key?: string | undefined;
}

export interface ModelChoice {
  providerId: string;
  modelId: string;
  label: string;
}

/**
 * What agents may do inside their sandbox: all by themselves, only what a person allowed, or reading only.
 * It guards against mistakes; the sandbox is the boundary.
 */
export const permissionPolicies = ["allow", "ask", "deny"] as const;
export type PermissionPolicy = (typeof permissionPolicies)[number];

export interface ModelSettings {
  providers: Provider[];
  /** Null means that the demo model answers. */
  defaultModel: ModelChoice | null;
  permissionPolicy: PermissionPolicy;
}

/** Where answers come from. Reading is for everyone of the tenant, the rest for admins. */
export interface Models {
  settings(viewer: Viewer): Promise<ModelSettings>;
  addProvider(viewer: Viewer, input: ProviderInput): Promise<Provider>;
  updateProvider(viewer: Viewer, providerId: string, input: Partial<ProviderInput>): Promise<Provider>;
  removeProvider(viewer: Viewer, providerId: string): Promise<void>;
  /** Asks the provider for its models with the stored key; records and returns the outcome, and merges the models found. */
  testProvider(viewer: Viewer, providerId: string, signal: AbortSignal): Promise<Provider>;
  /** The whole list of this provider's models: which are offered, and ones typed by hand. */
  chooseModels(viewer: Viewer, providerId: string, models: Model[]): Promise<Provider>;
  chooseDefault(viewer: Viewer, choice: { providerId: string; modelId: string } | null): Promise<void>;
  choosePermissions(viewer: Viewer, policy: PermissionPolicy): Promise<void>;
}
