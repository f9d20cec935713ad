"use client";

import { useId, useState } from "react";
import { toast } from "sonner";
import { maxModelIdLength } from "@/server/protocol/limits.ts";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { FailureNotice } from "../../ui/form.tsx";
import type { Outcome } from "../../ui/outcome.ts";
import { useOutcome } from "../../ui/use-outcome.ts";
import type { ModelView } from "./provider-view.ts";

const filterFrom = 9;

interface ModelChoiceProps {
  providerName: string;
  models: ModelView[];
  save: (models: ModelView[]) => Promise<Outcome>;
}

/** Which models people may use. Changes are a draft until they are saved. */
export function ModelChoice({ providerName, models, save }: ModelChoiceProps) {
  const [draft, setDraft] = useState(models);
  const [filter, setFilter] = useState("");
  const { pending, failure, run } = useOutcome();
  const changed = JSON.stringify(draft) !== JSON.stringify(models);
  const offered = draft.filter((model) => model.enabled).length;
  const wanted = filter.trim().toLowerCase();
  const shown = draft.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted));

  function switchModel(id: string, enabled: boolean) {
    setDraft((before) => before.map((model) => (model.id === id ? { ...model, enabled } : model)));
  }

  return (
    <div className="flex flex-col gap-3 border-t border-line px-5 py-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-13 font-medium">
          Models <span className="font-normal text-muted tabular-nums">{`${offered} of ${draft.length} enabled`}</span>
        </p>
        {draft.length >= filterFrom && (
          <input
            type="search"
            aria-label={`Filter the models of ${providerName}`}
            placeholder="Filter"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
            className={`${inputClasses} w-44`}
          />
        )}
      </div>
      {draft.length === 0 && (
        <p className="text-13 text-muted">No models yet. Test the provider, or add a model by its id.</p>
      )}
      {shown.length > 0 && (
        <ul className="grid max-h-80 gap-x-6 gap-y-2 overflow-y-auto py-1 sm:grid-cols-2">
          {shown.map((model) => (
            <li key={model.id}>
              <Checkbox
                checked={model.enabled}
                onChange={(event) => switchModel(model.id, event.target.checked)}
                hint={model.name !== model.id && <span className="font-mono break-all">{model.id}</span>}
              >
                <span className="break-all">{model.name}</span>
              </Checkbox>
            </li>
          ))}
        </ul>
      )}
      {draft.length > 0 && shown.length === 0 && <p className="text-13 text-muted">No model matches the filter.</p>}
      <AddModel
        known={draft}
        providerName={providerName}
        add={(id) => setDraft((before) => [...before, { id, name: id, enabled: true }])}
      />
      {failure && <FailureNotice failure={failure} />}
      {changed && (
        <div className="flex gap-2">
          <Button
            look="primary"
            size="small"
            pending={pending}
            onClick={() =>
              run(
                () => save(draft),
                () => toast.success(`Models of ${providerName} saved.`),
              )
            }
          >
            Save models
          </Button>
          <Button size="small" onClick={() => setDraft(models)}>
            Undo changes
          </Button>
        </div>
      )}
    </div>
  );
}

const inputClasses =
  "h-8 rounded-control border border-control bg-raised px-2.5 text-13 transition-colors hover:border-muted";

function AddModel(props: { known: ModelView[]; providerName: string; add: (id: string) => void }) {
  const { known, providerName, add } = props;
  const [id, setId] = useState("");
  const problemId = useId();
  const wanted = id.trim();
  const problem = known.some((model) => model.id === wanted) ? "That model is already in the list." : null;

  return (
    <form
      aria-label={`Add a model to ${providerName}`}
      className="flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (!wanted || problem) return;
        add(wanted);
        setId("");
      }}
    >
      <input
        aria-label="Model id"
        aria-describedby={problem ? problemId : undefined}
        aria-invalid={problem ? true : undefined}
        placeholder="Model id"
        maxLength={maxModelIdLength}
        spellCheck={false}
        value={id}
        onChange={(event) => setId(event.target.value)}
        className={`${inputClasses} w-56 max-w-full font-mono`}
      />
      <Button type="submit" size="small" disabled={!wanted || problem !== null}>
        Add by id
      </Button>
      {problem && (
        <p id={problemId} className="text-12 font-medium text-danger">
          {problem}
        </p>
      )}
    </form>
  );
}
