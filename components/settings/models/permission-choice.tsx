"use client";

import { toast } from "sonner";
import { FailureNotice } from "../../ui/form.tsx";
import type { Outcome } from "../../ui/outcome.ts";
import { RadioRows } from "../../ui/radio-rows.tsx";
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
      <RadioRows
        name="permissions"
        choices={choices}
        chosen={props.policy}
        choose={(policy) =>
          run(
            () => props.choose(policy),
            () => toast.success("Permissions saved. Agents follow them from their next turn."),
          )
        }
      />
      {failure && <FailureNotice failure={failure} />}
    </fieldset>
  );
}
