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
    meaning: "Agents work by themselves. The sandbox keeps the rest of the world safe.",
  },
  {
    value: "ask",
    label: "Ask",
    meaning: "A person allows each command, change of a file and web page first. The turn waits for it.",
  },
  { value: "deny", label: "Deny", meaning: "Agents read and answer; they run no command and change no file." },
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
                  () => toast.success("The permissions are saved. Agents follow them from their next turn on."),
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
