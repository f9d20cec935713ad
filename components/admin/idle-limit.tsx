"use client";

import { idleChoicesWith, idleWords } from "../sandbox/sandbox-words.ts";
import { Choice } from "../ui/choice.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { useToldOutcome } from "../ui/use-told-outcome.ts";

/** When sandboxes of the organisation sleep by themselves; people may choose otherwise for their own. */
export function IdleLimit(props: { minutes: number; choose: (input: { minutes: number }) => Promise<Outcome> }) {
  const { minutes, choose } = props;
  const { pending, run } = useToldOutcome();
  return (
    <Choice
      label="Sandboxes sleep after"
      value={String(minutes)}
      pending={pending}
      onChoose={(value) => run(() => choose({ minutes: Number(value) }))}
    >
      {idleChoicesWith(minutes).map((one) => (
        <option key={one} value={one}>
          {idleWords(one)}
        </option>
      ))}
    </Choice>
  );
}
