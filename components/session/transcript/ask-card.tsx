"use client";

import { MessageCircleQuestion, ShieldQuestion } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import type { LogEntryOf } from "@/server/protocol/log-entry.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/form.tsx";
import { useOutcome } from "../../ui/use-outcome.ts";
import { type AskAnswer, answerAsk } from "../session-api.ts";
import { readPermission, readQuestions, sayAnswer } from "./ask-view.ts";

/** The agent waits for a person: a question with its options, or a permission. */
export function AskCard({ entry }: { entry: LogEntryOf<"ask"> }) {
  const { pending, failure, run } = useOutcome();
  const { state, kind } = entry.body;
  const Icon = kind === "question" ? MessageCircleQuestion : ShieldQuestion;

  function send(answer: AskAnswer) {
    run(() => answerAsk(entry.body.askId, answer));
  }

  return (
    <section
      aria-label={kind === "question" ? "Question from the agent" : "The agent asks for permission"}
      className={`flex gap-3 rounded-card border bg-raised px-3.5 py-3 text-13 ${state === "pending" ? "border-awake" : "border-line"}`}
    >
      <Icon
        aria-hidden="true"
        strokeWidth={1.75}
        className={`mt-0.5 size-4 shrink-0 ${state === "pending" ? "text-awake" : "text-muted"}`}
      />
      <div className={`flex min-w-0 flex-1 flex-col ${state === "pending" ? "gap-3" : "gap-0.5"}`}>
        {kind === "question" ? (
          <Questions entry={entry} pending={pending} send={(answers) => send({ answers })} />
        ) : (
          <Permission entry={entry} pending={pending} send={(reply) => send({ reply })} />
        )}
        {state !== "pending" && <p className="text-muted">{sayAnswer(entry.body)}</p>}
        {failure && <FailureNotice failure={failure} />}
      </div>
    </section>
  );
}

interface AskProps<Answer> {
  entry: LogEntryOf<"ask">;
  pending: boolean;
  send: (answer: Answer) => void;
}

/** Where the policy is to ask. Otherwise it is only told: the agent was answered at once. */
function Permission({ entry, pending, send }: AskProps<"once" | "always" | "reject">) {
  const { permission, patterns, always } = readPermission(entry.body.request);
  const isPending = entry.body.state === "pending";
  return (
    <>
      <div>
        <p className="text-15 font-medium">
          {isPending ? "May the agent" : "The agent asked to"} {permission}
          {isPending && "?"}
        </p>
        {patterns.map((pattern) => (
          <p key={pattern} className="font-mono text-12 [overflow-wrap:anywhere]">
            {pattern}
          </p>
        ))}
      </div>
      {isPending && (
        <div className="flex flex-wrap gap-2">
          <Button size="small" look="primary" pending={pending} onClick={() => send("once")}>
            Allow once
          </Button>
          <Button
            size="small"
            pending={pending}
            title={always.length > 0 ? `Always allows: ${always.join(", ")}` : undefined}
            onClick={() => send("always")}
          >
            Always allow
          </Button>
          <Button size="small" look="quiet" pending={pending} onClick={() => send("reject")}>
            Deny
          </Button>
        </div>
      )}
    </>
  );
}

function Questions({ entry, pending, send }: AskProps<string[][]>) {
  const questions = readQuestions(entry.body.request);
  const [own, setOwn] = useState<Record<number, string>>({});
  const [chosen, setChosen] = useState<Record<number, string[]>>({});
  const id = useId();
  const isPending = entry.body.state === "pending";
  const answers = questions.map((_, index) => [
    ...(chosen[index] ?? []),
    ...(own[index]?.trim() ? [own[index].trim()] : []),
  ]);
  const [single] = questions;
  // One question with one choice is answered by one click.
  const atOnce = questions.length === 1 && single !== undefined && !single.multiple;

  function choose(index: number, label: string, multiple: boolean) {
    if (atOnce) return send([[label]]);
    const now = chosen[index] ?? [];
    const next = now.includes(label) ? now.filter((other) => other !== label) : multiple ? [...now, label] : [label];
    setChosen({ ...chosen, [index]: next });
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    if (answers.every((answer) => answer.length > 0)) send(answers);
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {questions.map((question, index) => (
        <fieldset key={question.text} className="flex flex-col gap-2" disabled={!isPending}>
          <legend className={`text-15 font-medium ${isPending ? "pb-2" : ""}`}>{question.text}</legend>
          {isPending &&
            question.options.map((option) => (
              <button
                key={option.label}
                type="button"
                aria-pressed={atOnce ? undefined : (chosen[index] ?? []).includes(option.label)}
                onClick={() => choose(index, option.label, question.multiple)}
                className="flex flex-col rounded-control border border-line px-3 py-2 text-left transition-colors hover:border-control aria-pressed:border-ink aria-pressed:bg-ink/5"
              >
                <span className="font-medium">{option.label}</span>
                {option.description && <span className="text-12 text-muted">{option.description}</span>}
              </button>
            ))}
          {isPending && (
            <input
              aria-label={`Your own answer to: ${question.text}`}
              id={`${id}-${index}`}
              value={own[index] ?? ""}
              onChange={(event) => setOwn({ ...own, [index]: event.target.value })}
              placeholder="Or write your own answer"
              className="h-9 rounded-control border border-control bg-raised px-3 text-13"
            />
          )}
        </fieldset>
      ))}
      {isPending && (
        <div className="flex gap-2">
          <Button
            type="submit"
            look="primary"
            size="small"
            pending={pending}
            disabled={!answers.every((answer) => answer.length > 0)}
          >
            Answer
          </Button>
        </div>
      )}
    </form>
  );
}
