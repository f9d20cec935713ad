"use client";

import { ChevronDown } from "lucide-react";
import { toast } from "sonner";
import { FailureNotice } from "../../ui/form.tsx";
import { Spinner } from "../../ui/spinner.tsx";
import { useOutcome } from "../../ui/use-outcome.ts";
import { DemoNotice } from "./demo-notice.tsx";
import type { ModelActions, SettingsView } from "./provider-view.ts";

export function DefaultModel({
  providers,
  defaultModel,
  choose,
}: Omit<SettingsView, "permissionPolicy"> & { choose: ModelActions["chooseDefault"] }) {
  const { pending, failure, run } = useOutcome();
  const offered = providers
    .map((provider) => ({ provider, models: provider.models.filter((model) => model.enabled) }))
    .filter(({ models }) => models.length > 0);
  const choices = offered.flatMap(({ provider, models }) =>
    models.map((model) => ({ providerId: provider.id, modelId: model.id })),
  );
  const toOption = (choice: { providerId: string; modelId: string }) => `${choice.providerId}/${choice.modelId}`;

  function pick(value: string) {
    const choice = choices.find((candidate) => toOption(candidate) === value) ?? null;
    run(
      () => choose(choice),
      () => toast.success("Default model saved."),
    );
  }

  return (
    <div className="flex flex-col gap-3">
      {offered.length > 0 && (
        <div className="flex max-w-104 items-center gap-3">
          <span className="relative block min-w-0 flex-1">
            <select
              aria-label="Default model"
              value={defaultModel ? toOption(defaultModel) : ""}
              disabled={pending}
              onChange={(event) => pick(event.target.value)}
              className="h-10 w-full appearance-none truncate rounded-control border border-control bg-raised pr-9 pl-3 text-15 transition-colors hover:border-muted"
            >
              <option value="">Demo model (built in)</option>
              {offered.map(({ provider, models }) => (
                <optgroup key={provider.id} label={provider.name}>
                  {models.map((model) => (
                    <option key={model.id} value={toOption({ providerId: provider.id, modelId: model.id })}>
                      {model.name}
                    </option>
                  ))}
                </optgroup>
              ))}
            </select>
            <ChevronDown aria-hidden="true" className="pointer-events-none absolute top-3 right-3 size-4 text-muted" />
          </span>
          {pending && <Spinner className="text-muted" />}
        </div>
      )}
      {failure && <FailureNotice failure={failure} />}
      {!defaultModel && (
        <DemoNotice
          wayOut={
            offered.length > 0
              ? "Choose a model above for real answers."
              : providers.length > 0
                ? "Enable at least one model below, then choose it here."
                : "Add a provider with a key below for real answers."
          }
        />
      )}
    </div>
  );
}
