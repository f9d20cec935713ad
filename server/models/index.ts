import type { Viewer } from "../auth/index.ts";
import type { DetailSource, ModelDetails } from "../protocol/model-details.ts";

export type { TurnCosts } from "./create-turn-costs.ts";
export type { ModelCatalogue } from "./model-catalogue.ts";

export const providerKinds = ["openai", "anthropic", "openai-compatible"] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** What a stored key is sealed with: it opens for its own provider's row only. */
export const providerKeyContext = (id: string) => `provider-key:${id}`;

/** The name under which the demo model is called, where a provider's id otherwise stands. It costs nothing. */
export const demoProviderId = "demo";

/** As an admin chooses it. */
export interface ListedModel {
  id: string;
  name: string;
  enabled: boolean;
}

export interface Model extends ListedModel {
  details: ModelDetails;
  detailsFrom: DetailSource;
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

export interface ModelKey {
  providerId: string;
  modelId: string;
}

export interface ModelChoice extends ModelKey {
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
  chooseModels(viewer: Viewer, providerId: string, models: ListedModel[]): Promise<Provider>;
  /**
   * What one of its models costs and can take; null goes back to the catalogue. Prices count from the next
   * end of a turn; agents are told of the rest.
   */
  changeModel(viewer: Viewer, input: ModelKey & { details: ModelDetails | null }): Promise<Provider>;
  chooseDefault(viewer: Viewer, choice: ModelKey | null): Promise<void>;
  choosePermissions(viewer: Viewer, policy: PermissionPolicy): Promise<void>;
}
