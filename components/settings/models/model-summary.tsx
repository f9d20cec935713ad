import { Section } from "../../ui/section.tsx";
import { DemoNotice } from "./demo-notice.tsx";
import type { SettingsView } from "./provider-view.ts";

/** For people who may see what answers but not change it. */
export function ModelSummary({ providers, defaultModel }: SettingsView) {
  const offered = providers.flatMap((provider) =>
    provider.models.filter((model) => model.enabled).map((model) => ({ provider, model })),
  );
  return (
    <div className="flex flex-col gap-10">
      <Section title="Model" description="An admin chooses the models of your organisation.">
        {defaultModel ? (
          <p className="rounded-card border border-line bg-raised px-5 py-4 text-15">{defaultModel.label}</p>
        ) : (
          <DemoNotice wayOut="Ask an admin to add a provider for real answers." />
        )}
      </Section>
      {offered.length > 0 && (
        <Section title="Available models">
          <ul className="divide-y divide-line rounded-card border border-line bg-raised">
            {offered.map(({ provider, model }) => (
              <li
                key={`${provider.id} ${model.id}`}
                className="flex min-h-9 flex-wrap items-center gap-x-3 px-5 py-1.5 text-13"
              >
                <span className="font-medium">{model.name}</span>
                <span className="text-muted">{provider.name}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </div>
  );
}
