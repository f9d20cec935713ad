"use client";

import type { ReactNode } from "react";
import { toast } from "sonner";
import type { DetailSource, ModelDetails, ModelPrice } from "../../../server/protocol/model-details.ts";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { FailureNotice, Form, FormFailure, SubmitButton } from "../../ui/form.tsx";
import type { Outcome } from "../../ui/outcome.ts";
import { useOutcome } from "../../ui/use-outcome.ts";
import { describePrice, parseNumber, tokenCount } from "./describe-details.ts";
import type { ModelView } from "./provider-view.ts";

const sources: Record<DetailSource, string> = {
  admin: "Set by an admin.",
  catalogue: "From opencode's built-in catalogue. Change whatever is different for you.",
  unknown: "This model is not in opencode's catalogue. Enter what its provider says.",
};

interface ModelDialogProps {
  model: ModelView;
  close: () => void;
  save: (details: ModelDetails | null) => Promise<Outcome>;
}

/** What a model costs and can take. */
export function ModelDialog({ model, close, save }: ModelDialogProps) {
  const { details, detailsFrom } = model;
  const { pending, failure, run } = useOutcome();
  const done = () => {
    toast.success(`Prices and limits of ${model.name} are saved.`);
    close();
  };

  return (
    <Dialog open onOpenChange={close} title={model.name} description={sources[detailsFrom]}>
      <Form
        label="Prices and limits"
        submit={(values) => save(readDetails(values, details))}
        onSuccess={done}
        className="gap-6"
      >
        <Group title="Price" note="Dollars per million tokens. Leave a field empty if you do not know the price.">
          <Amount name="input" label="Input" value={details.price.input} />
          <Amount name="output" label="Output" value={details.price.output} />
          <Amount name="cacheRead" label="Cache read" value={details.price.cacheRead} />
          <Amount name="cacheWrite" label="Cache write" value={details.price.cacheWrite} />
          {details.longPromptPrices.map(({ aboveTokens, price }) => (
            <p key={aboveTokens} className="col-span-full text-12 text-muted">
              {`Prompts above ${tokenCount(aboveTokens)} tokens: ${describePrice(price)}.`}
            </p>
          ))}
        </Group>
        <Group title="Limits" note="Tokens. The agent summarises a conversation before it outgrows the context.">
          <Limit name="maxContextTokens" label="Context" value={details.maxContextTokens} />
          <Limit name="maxInputTokens" label="Input" value={details.maxInputTokens} />
          <Limit name="maxOutputTokens" label="Output" value={details.maxOutputTokens} />
        </Group>
        <Group title="Abilities">
          <Checkbox name="images" defaultChecked={details.images}>
            Reads images
          </Checkbox>
          <Checkbox name="pdfs" defaultChecked={details.pdfs}>
            Reads PDFs
          </Checkbox>
          <Checkbox name="reasoning" defaultChecked={details.reasoning}>
            Supports reasoning
          </Checkbox>
        </Group>
        <FormFailure />
        {failure && <FailureNotice failure={failure} />}
        <div className="flex justify-end gap-2">
          {detailsFrom === "admin" && (
            <Button pending={pending} onClick={() => run(() => save(null), done)}>
              Use the catalogue's values
            </Button>
          )}
          <SubmitButton pendingLabel="Saving …">Save</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}

function Group({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-1 text-13 font-medium">{title}</legend>
      {note && <p className="text-12 text-muted">{note}</p>}
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">{children}</div>
    </fieldset>
  );
}

interface NumberField {
  name: string;
  label: string;
  value: number | null;
}

function Amount({ name, label, value }: NumberField) {
  return (
    <Field
      name={name}
      label={label}
      mono
      inputMode="decimal"
      autoComplete="off"
      defaultValue={value ?? ""}
      pattern="\s*(\d{1,6}([.,]\d{1,6})?)?\s*"
      messages={{ form: "Enter a price such as 2.50." }}
    />
  );
}

function Limit({ name, label, value }: NumberField) {
  return (
    <Field
      name={name}
      label={label}
      mono
      inputMode="numeric"
      autoComplete="off"
      defaultValue={value ?? ""}
      pattern="\s*\d{0,9}\s*"
      messages={{ form: "Enter a number of tokens such as 200000." }}
    />
  );
}

function readDetails(values: Record<string, string>, before: ModelDetails): ModelDetails {
  const price: ModelPrice = {
    input: parseNumber(values.input),
    output: parseNumber(values.output),
    cacheRead: parseNumber(values.cacheRead),
    cacheWrite: parseNumber(values.cacheWrite),
  };
  const samePrice = (Object.keys(price) as (keyof ModelPrice)[]).every((kind) => price[kind] === before.price[kind]);
  return {
    price,
    // The catalogue's prices for long prompts belong to its own prices, not to an admin's.
    longPromptPrices: samePrice ? before.longPromptPrices : [],
    maxContextTokens: parseNumber(values.maxContextTokens),
    maxInputTokens: parseNumber(values.maxInputTokens),
    maxOutputTokens: parseNumber(values.maxOutputTokens),
    images: values.images !== undefined,
    pdfs: values.pdfs !== undefined,
    reasoning: values.reasoning !== undefined,
  };
}
