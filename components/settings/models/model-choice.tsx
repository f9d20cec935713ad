"use client";

import { SlidersHorizontal } from "lucide-react";
import { useId, useState } from "react";
import { toast } from "sonner";
import { maxModelIdLength } from "@/server/protocol/limits.ts";
import type { ModelDetails } from "../../../server/protocol/model-details.ts";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { FailureNotice } from "../../ui/form.tsx";
import type { Outcome } from "../../ui/outcome.ts";
import { useOutcome } from "../../ui/use-outcome.ts";
import { describeDetails } from "./describe-details.ts";
import { ModelDialog } from "./model-dialog.tsx";
import type { ListedModel, ModelView } from "./provider-view.ts";

const filterFrom = 9;

interface ModelChoiceProps {
  providerName: string;
  models: ModelView[];
  save: (models: ListedModel[]) => Promise<Outcome>;
  saveDetails: (modelId: string, details: ModelDetails | null) => Promise<Outcome>;
}

export const toListed = ({ id, name, enabled }: ListedModel): ListedModel => ({ id, name, enabled });

/** Which models people may use. Changes are a draft until they are saved. */
export function ModelChoice({ providerName, models, save, saveDetails }: ModelChoiceProps) {
  const listed = models.map(toListed);
  const [draft, setDraft] = useState(listed);
  const [editedId, setEditedId] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  const { pending, failure, run } = useOutcome();
  const changed = JSON.stringify(draft) !== JSON.stringify(listed);
  const stored = new Map(models.map((model) => [model.id, model]));
  const edited = editedId === null ? undefined : stored.get(editedId);
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
            <ModelRow
              key={model.id}
              model={model}
              details={stored.get(model.id)?.details}
              onSwitch={(enabled) => switchModel(model.id, enabled)}
              onEdit={() => setEditedId(model.id)}
            />
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
          <Button size="small" onClick={() => setDraft(listed)}>
            Undo changes
          </Button>
        </div>
      )}
      {edited && (
        <ModelDialog
          model={edited}
          close={() => setEditedId(null)}
          save={(details) => saveDetails(edited.id, details)}
        />
      )}
    </div>
  );
}

interface ModelRowProps {
  model: ListedModel;
  /** Of a model that is stored: only that has any. */
  details: ModelDetails | undefined;
  onSwitch: (enabled: boolean) => void;
  onEdit: () => void;
}

function ModelRow({ model, details, onSwitch, onEdit }: ModelRowProps) {
  const { id, name, enabled } = model;
  const hint = (
    <>
      {name !== id && <span className="block font-mono wrap-anywhere">{id}</span>}
      {details && describeDetails(details)}
    </>
  );
  return (
    <li className="flex items-start justify-between gap-2">
      <Checkbox
        checked={enabled}
        onChange={(event) => onSwitch(event.target.checked)}
        hint={(name !== id || details) && hint}
      >
        <span className="wrap-anywhere">{name}</span>
      </Checkbox>
      {details && (
        <Button
          look="quiet"
          size="small"
          aria-label={`Prices and limits of ${name}`}
          title="Prices and limits"
          onClick={onEdit}
        >
          <SlidersHorizontal aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
        </Button>
      )}
    </li>
  );
}

const inputClasses =
  "h-8 rounded-control border border-control bg-raised px-2.5 text-13 transition-colors hover:border-muted";

function AddModel(props: { known: ListedModel[]; providerName: string; add: (id: string) => void }) {
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
