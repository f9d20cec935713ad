import { Check, X } from "lucide-react";
import { Elapsed } from "../session/transcript/elapsed.tsx";
import { classNames } from "../ui/class-names.ts";
import type { Step } from "./sandbox-words.ts";

/** The phases of what is being done, each with the time it took or takes. */
export function StepList({ steps }: { steps: Step[] }) {
  return (
    <ol aria-label="Steps" className="flex flex-col gap-1.5 text-13">
      {steps.map(({ label, state, from, to }) => (
        <li
          key={label}
          aria-current={state === "current" ? "step" : undefined}
          className={classNames("flex items-center gap-2.5", state !== "current" && "text-muted")}
        >
          <Sign state={state} />
          <span className="min-w-0">
            {label}
            <span className="sr-only">{spoken[state]}</span>
          </span>
          <Elapsed from={from} to={to} />
        </li>
      ))}
    </ol>
  );
}

const spoken = { done: ", done", current: ", under way", failed: ", failed", ahead: ", still to come" } as const;

function Sign({ state }: { state: Step["state"] }) {
  if (state === "done") return <Check aria-hidden="true" className="size-4 shrink-0 text-ok" strokeWidth={2} />;
  if (state === "failed") return <X aria-hidden="true" className="size-4 shrink-0 text-danger" strokeWidth={2} />;
  return (
    <span aria-hidden="true" className="grid size-4 shrink-0 place-items-center">
      <span
        className={classNames(
          "size-2 rounded-full",
          state === "current" ? "animate-breathe bg-awake" : "border border-control",
        )}
      />
    </span>
  );
}
