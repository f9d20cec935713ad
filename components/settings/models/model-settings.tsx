"use client";

import { Plus } from "lucide-react";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Section } from "../../ui/section.tsx";
import { DefaultModel } from "./default-model.tsx";
import { PermissionChoice } from "./permission-choice.tsx";
import { ProviderCard } from "./provider-card.tsx";
import { ProviderDialog } from "./provider-dialog.tsx";
import type { ModelActions, SettingsView } from "./provider-view.ts";
import { useProviderTests } from "./use-provider-tests.ts";

export function ModelSettings(props: SettingsView & { actions: ModelActions }) {
  const { providers, defaultModel, permissionPolicy, actions } = props;
  const [adding, setAdding] = useState(false);
  const tests = useProviderTests(actions.testProvider);
  const add = (
    <Button look={providers.length === 0 ? "primary" : "secondary"} onClick={() => setAdding(true)}>
      <Plus aria-hidden="true" className="size-4" strokeWidth={1.75} />
      Add provider
    </Button>
  );

  return (
    <div className="flex flex-col gap-10">
      <Section title="Model" description="New sessions use this model.">
        <DefaultModel providers={providers} defaultModel={defaultModel} choose={actions.chooseDefault} />
      </Section>
      <Section
        title="Providers"
        description="Keys are stored encrypted and never reach a sandbox."
        aside={providers.length > 0 && add}
      >
        {providers.length === 0 && (
          <EmptyState title="No provider yet" action={add}>
            Add OpenAI, Anthropic or any OpenAI-compatible endpoint, such as Ollama or vLLM.
          </EmptyState>
        )}
        {providers.map((provider) => (
          <ProviderCard key={provider.id} provider={provider} actions={actions} tests={tests} />
        ))}
      </Section>
      <Section
        title="Permissions"
        description="What agents may do in their sandbox. This guards against mistakes; the sandbox itself is the security boundary."
      >
        <PermissionChoice policy={permissionPolicy} choose={actions.choosePermissions} />
      </Section>
      <ProviderDialog
        open={adding}
        onOpenChange={setAdding}
        provider={null}
        actions={actions}
        onSaved={(providerId) => tests.begin(providerId)}
      />
    </div>
  );
}
