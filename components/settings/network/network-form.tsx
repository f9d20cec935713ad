"use client";

import { useId, useState } from "react";
import { toast } from "sonner";
import { Form, FormFailure, SubmitButton } from "../../ui/form.tsx";
import type { Outcome } from "../../ui/outcome.ts";
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
        toast.success("Saved. New connections follow it within 5 seconds.");
      }}
      className="max-w-140"
    >
      <fieldset className="divide-y divide-line rounded-card border border-line bg-raised">
        <legend className="sr-only">Internet access</legend>
        {rules.map(({ value, label, meaning }) => (
          <label key={value} className="flex gap-3 px-4 py-3 text-13">
            <input
              type="radio"
              name="rule"
              value={value}
              checked={rule === value}
              onChange={() => setRule(value)}
              className="mt-1 accent-ink"
            />
            <span className="flex flex-col">
              <span className="font-medium">{label}</span>
              <span className="text-muted">{meaning}</span>
            </span>
          </label>
        ))}
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
        <SubmitButton pendingLabel="Saving">Save</SubmitButton>
      </div>
    </Form>
  );
}
