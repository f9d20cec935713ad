"use client";

import { toast } from "sonner";
import { FailureNotice } from "../../ui/form.tsx";
import type { Outcome } from "../../ui/outcome.ts";
import { useOutcome } from "../../ui/use-outcome.ts";

export type PermissionPolicy = "allow" | "ask" | "deny";

const choices: { value: PermissionPolicy; label: string; meaning: string }[] = [
  {
    value: "allow",
    label: "Allow",
    meaning: "Agents work without asking. The sandbox protects everything outside it.",
  },
  {
    value: "ask",
    label: "Ask",
    meaning: "Agents ask before each command, file change and web page. The turn waits for the answer.",
  },
  { value: "deny", label: "Deny", meaning: "Agents can read and answer, but cannot run commands or change files." },
];

/** What agents may do inside their sandbox without a person. */
export function PermissionChoice(props: {
  policy: PermissionPolicy;
  choose: (policy: PermissionPolicy) => Promise<Outcome>;
}) {
  const { pending, failure, run } = useOutcome();
  return (
    <fieldset disabled={pending} className="flex max-w-140 flex-col gap-3">
      <legend className="sr-only">Permissions</legend>
      <div className="divide-y divide-line rounded-card border border-line bg-raised">
        {choices.map(({ value, label, meaning }) => (
          <label key={value} className="flex gap-3 px-4 py-3 text-13">
            <input
              type="radio"
              name="permissions"
              value={value}
              checked={props.policy === value}
              onChange={() =>
                run(
                  () => props.choose(value),
                  () => toast.success("Permissions saved. Agents follow them from their next turn."),
                )
              }
              className="mt-1 accent-ink"
            />
            <span className="flex flex-col">
              <span className="font-medium">{label}</span>
              <span className="text-muted">{meaning}</span>
            </span>
          </label>
        ))}
      </div>
      {failure && <FailureNotice failure={failure} />}
    </fieldset>
  );
}
