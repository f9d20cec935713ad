"use client";

import { useId, useState } from "react";
import { toast } from "sonner";
import { Form, FormFailure, SubmitButton } from "../../ui/form.tsx";
import type { Outcome } from "../../ui/outcome.ts";
import { RadioRows } from "../../ui/radio-rows.tsx";
import type { NetworkChoice } from "./network-summary.tsx";

const rules: { value: NetworkChoice["rule"]; label: string; meaning: string }[] = [
  {
    value: "public",
    label: "All public addresses",
    meaning: "Agents can reach the whole internet, on the ports for web, SSH and git.",
  },
  {
    value: "listed",
    label: "Only these hosts",
    meaning: "Agents can reach the hosts below. Connections to any other host are refused.",
  },
];

export function NetworkForm(
  props: NetworkChoice & { save: (choice: NetworkChoice) => Promise<Outcome<NetworkChoice>> },
) {
  const [rule, setRule] = useState(props.rule);
  const [text, setText] = useState(props.hosts.join("\n"));
  const fieldId = useId();
  const hintId = useId();
  const hosts = text.split(/[\s,]+/).filter(Boolean);

  return (
    <Form
      label="Internet access"
      submit={() => props.save({ rule, hosts })}
      onSuccess={(stored) => {
        // In one spelling, each host once.
        setText(stored.hosts.join("\n"));
        toast.success("Saved. New connections follow these rules within 5 seconds.");
      }}
      className="max-w-140"
    >
      <fieldset>
        <legend className="sr-only">Internet access</legend>
        <RadioRows name="rule" choices={rules} chosen={rule} choose={setRule} />
      </fieldset>
      {rule === "listed" && (
        <div className="flex flex-col gap-1.5">
          <label htmlFor={fieldId} className="text-13 font-medium">
            Allowed hosts
          </label>
          <textarea
            id={fieldId}
            aria-describedby={hintId}
            value={text}
            onChange={(event) => setText(event.target.value)}
            rows={Math.min(16, Math.max(6, hosts.length + 1))}
            spellCheck={false}
            autoCapitalize="off"
            placeholder={"packages.example.com\n*.githubusercontent.com"}
            className="w-full rounded-control border border-control bg-raised px-3 py-2 font-mono text-13 transition-colors hover:border-muted focus-visible:border-ink focus-visible:outline-1 focus-visible:-outline-offset-2"
          />
          <p id={hintId} className="text-12 text-muted">
            One host per line. *.example.org stands for every subdomain, but not for example.org itself. Add :443 to
            allow one port only.{hosts.length === 0 && " While the list is empty, agents can reach nothing."}
          </p>
        </div>
      )}
      <FormFailure />
      <div>
        <SubmitButton pendingLabel="Saving …">Save</SubmitButton>
      </div>
    </Form>
  );
}
