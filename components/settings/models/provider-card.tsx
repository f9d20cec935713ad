"use client";

import { useState } from "react";
import { toast } from "sonner";
import { Badge, StateDot } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/confirm-button.tsx";
import { FailureNotice } from "../../ui/form.tsx";
import { Time } from "../../ui/time.tsx";
import { ModelChoice } from "./model-choice.tsx";
import { ProviderDialog } from "./provider-dialog.tsx";
import { kindNames, type ModelActions, type ProviderView } from "./provider-view.ts";
import type { ProviderTests } from "./use-provider-tests.ts";

interface ProviderCardProps {
  provider: ProviderView;
  actions: ModelActions;
  tests: ProviderTests;
}

export function ProviderCard({ provider, actions, tests }: ProviderCardProps) {
  const [editing, setEditing] = useState(false);
  const running = tests.isRunning(provider.id);
  const failure = tests.failureOf(provider.id);
  return (
    <article aria-label={provider.name} className="rounded-card border border-line bg-raised">
      <div className="flex flex-wrap items-start justify-between gap-4 px-5 pt-4 pb-4">
        <div className="flex min-w-0 flex-col gap-1">
          <h3 className="flex flex-wrap items-center gap-2 text-15">
            {provider.name}
            {provider.name !== kindNames[provider.kind] && <Badge>{kindNames[provider.kind]}</Badge>}
          </h3>
          <p className="font-mono text-12 break-all text-muted">
            {provider.baseUrl} · {provider.keyEnding ? `key …${provider.keyEnding}` : "no key"}
          </p>
          <div role="status" className="text-13">
            <TestOutcome provider={provider} running={running} />
          </div>
        </div>
        <div className="flex flex-wrap gap-1.5">
          <Button size="small" pending={running} onClick={() => tests.begin(provider.id)}>
            {running ? "Testing …" : "Test"}
          </Button>
          <Button size="small" onClick={() => setEditing(true)}>
            Edit
          </Button>
          <ConfirmButton
            label="Remove"
            look="secondary"
            title={`Remove ${provider.name}?`}
            consequence="Its key will be deleted and its models will no longer be available. If one of them is the default, the demo model is used instead."
            confirmLabel="Remove provider"
            confirm={() => actions.removeProvider(provider.id)}
            onDone={() => toast.success(`${provider.name} is removed.`)}
          />
        </div>
      </div>
      {failure && (
        <div className="px-5 pb-4">
          <FailureNotice failure={failure} />
        </div>
      )}
      <ModelChoice
        // Drafts are kept until the list itself changes.
        key={JSON.stringify(provider.models)}
        providerName={provider.name}
        models={provider.models}
        save={(models) => actions.chooseModels({ providerId: provider.id, models })}
      />
      <ProviderDialog
        open={editing}
        onOpenChange={setEditing}
        provider={provider}
        actions={actions}
        onSaved={(providerId) => tests.begin(providerId)}
      />
    </article>
  );
}

function TestOutcome({ provider, running }: { provider: ProviderView; running: boolean }) {
  const { lastTest, baseUrl } = provider;
  if (running) return <StateDot tone="working">Asking {hostOf(baseUrl)} for its models …</StateDot>;
  if (!lastTest) return <StateDot tone="still">Not tested yet</StateDot>;
  if (!lastTest.ok) {
    return (
      <StateDot tone="danger" className="whitespace-normal!">
        <span>
          {lastTest.message} <span className="text-muted">Tested</span> <Time at={lastTest.at} className="text-muted" />
        </span>
      </StateDot>
    );
  }
  return (
    <StateDot tone="ok" className="whitespace-normal!">
      <span>
        Works: {lastTest.modelCount === 1 ? "1 model" : `${lastTest.modelCount} models`} in {lastTest.milliseconds} ms{" "}
        <span className="text-muted">· tested</span> <Time at={lastTest.at} className="text-muted" />
      </span>
    </StateDot>
  );
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}
