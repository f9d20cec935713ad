import type { DetailSource, ModelDetails } from "../../../server/protocol/model-details.ts";
import type { Outcome } from "../../ui/outcome.ts";
import type { PermissionPolicy } from "./permission-choice.tsx";

export type ProviderKind = "openai" | "anthropic" | "openai-compatible";

export const kindNames: Record<ProviderKind, string> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  "openai-compatible": "OpenAI-compatible",
};

export interface ListedModel {
  id: string;
  name: string;
  enabled: boolean;
}

export interface ModelView extends ListedModel {
  details: ModelDetails;
  detailsFrom: DetailSource;
}

export type TestView =
  | { at: Date; ok: true; modelCount: number; milliseconds: number }
  | { at: Date; ok: false; message: string };

export interface ProviderView {
  id: string;
  kind: ProviderKind;
  name: string;
  baseUrl: string;
  keyEnding: string | null;
  models: ModelView[];
  lastTest: TestView | null;
}

export interface SettingsView {
  providers: ProviderView[];
  /** Null means that the demo model answers. */
  defaultModel: { providerId: string; modelId: string; label: string } | null;
  permissionPolicy: PermissionPolicy;
}

export interface ProviderDetails {
  name: string;
  baseUrl?: string | undefined;
  key?: string | undefined;
}

export interface ModelActions {
  addProvider(input: ProviderDetails & { kind: ProviderKind }): Promise<Outcome<{ providerId: string }>>;
  updateProvider(input: ProviderDetails & { providerId: string }): Promise<Outcome<{ providerId: string }>>;
  removeProvider(providerId: string): Promise<Outcome>;
  testProvider(providerId: string): Promise<Outcome<{ lastTest: TestView | null }>>;
  chooseModels(input: { providerId: string; models: ListedModel[] }): Promise<Outcome>;
  /** Null goes back to the catalogue. */
  changeModel(input: { providerId: string; modelId: string; details: ModelDetails | null }): Promise<Outcome>;
  chooseDefault(choice: { providerId: string; modelId: string } | null): Promise<Outcome>;
  choosePermissions(policy: PermissionPolicy): Promise<Outcome>;
}
