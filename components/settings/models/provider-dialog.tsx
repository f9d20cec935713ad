"use client";

import { useState } from "react";
import { maxProviderKeyLength, maxProviderNameLength } from "@/server/protocol/limits.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, SelectField } from "../../ui/field.tsx";
import { Form, FormFailure, SubmitButton } from "../../ui/form.tsx";
import { kindNames, type ModelActions, type ProviderKind, type ProviderView } from "./provider-view.ts";

interface ProviderDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Null adds one. */
  provider: ProviderView | null;
  actions: Pick<ModelActions, "addProvider" | "updateProvider">;
  onSaved: (providerId: string) => void;
}

export function ProviderDialog({ open, onOpenChange, provider, actions, onSaved }: ProviderDialogProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={provider ? `Edit ${provider.name}` : "Add a provider"}
      description="It is tested as soon as it is saved."
    >
      <ProviderForm
        provider={provider}
        actions={actions}
        onSaved={(providerId) => {
          onOpenChange(false);
          onSaved(providerId);
        }}
      />
    </Dialog>
  );
}

function ProviderForm({ provider, actions, onSaved }: Omit<ProviderDialogProps, "open" | "onOpenChange">) {
  const [kind, setKind] = useState<ProviderKind>(provider?.kind ?? "openai");
  const compatible = kind === "openai-compatible";

  return (
    <Form
      label={provider ? "Edit the provider" : "Add a provider"}
      submit={({ name = "", baseUrl, key }) =>
        provider
          ? actions.updateProvider({ providerId: provider.id, name, baseUrl, key: key || undefined })
          : actions.addProvider({ kind, name: name || kindNames[kind], baseUrl, key: key || undefined })
      }
      onSuccess={({ providerId }) => onSaved(providerId)}
    >
      {!provider && (
        <SelectField
          name="kind"
          label="Kind"
          value={kind}
          onChange={(event) => setKind(event.target.value as ProviderKind)}
        >
          {Object.entries(kindNames).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      )}
      <Field
        name="name"
        label="Name"
        defaultValue={provider?.name}
        maxLength={maxProviderNameLength}
        required={compatible || provider !== null}
        placeholder={compatible ? "My Ollama server" : kindNames[kind]}
        messages={{ missing: "Enter a name for the provider." }}
      />
      {compatible && (
        <Field
          name="baseUrl"
          label="Address"
          type="url"
          mono
          defaultValue={provider?.baseUrl}
          required
          placeholder="http://localhost:11434/v1"
          hint={
            provider?.keyEnding
              ? "Most end in /v1. If you change the address, enter the key again: a stored key is never sent to another server."
              : "Most end in /v1."
          }
          messages={{
            missing: "Enter the address of the endpoint.",
            form: "The address must begin with http:// or https://.",
          }}
        />
      )}
      <Field
        name="key"
        label="Key"
        type="password"
        mono
        autoComplete="off"
        maxLength={maxProviderKeyLength}
        required={!provider && !compatible}
        placeholder={provider?.keyEnding ? `Keep the stored key …${provider.keyEnding}` : ""}
        hint={compatible ? "Leave it empty if the endpoint needs no key." : undefined}
        messages={{ missing: "This provider needs a key." }}
      />
      <FormFailure />
      <div className="flex justify-end">
        <SubmitButton pendingLabel="Saving …">{provider ? "Save and test" : "Add and test"}</SubmitButton>
      </div>
    </Form>
  );
}
