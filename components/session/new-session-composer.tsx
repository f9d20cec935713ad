"use client";

import { ArrowUp } from "lucide-react";
import { useRouter } from "next/navigation";
import { type FormEvent, type KeyboardEvent, useRef } from "react";
import { Button } from "../ui/button.tsx";
import { FailureNotice } from "../ui/form.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { useOutcome } from "../ui/use-outcome.ts";
import { promptProblem, writeOutbox } from "./composer/outbox.ts";
import { useDraft } from "./composer/use-draft.ts";
import { randomId } from "./random-id.ts";

interface NewSessionComposerProps {
  create: () => Promise<Outcome<{ sessionId: string }>>;
  /** What the draft is kept under: the next person at this browser has another. */
  draft: string;
}

/** The first prompt makes the session. It goes into the session's outbox, which sends it from the session's own page. */
export function NewSessionComposer({ create, draft }: NewSessionComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, write] = useDraft(draft, field);
  const { pending, failure, run } = useOutcome();
  const router = useRouter();
  const problem = promptProblem(text);
  const tooLong = problem !== null && problem !== "empty" ? problem : null;

  function begin() {
    if (problem || pending) return;
    run(create, ({ sessionId }) => {
      writeOutbox(localStorage, sessionId, [{ key: randomId(), text, problem: null, turnId: null }]);
      write("");
      router.push(`/sessions/${sessionId}`);
    });
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    begin();
  }

  return (
    <form
      className="flex w-full flex-col gap-2"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        begin();
      }}
    >
      {failure && <FailureNotice failure={failure} />}
      <div className="flex items-end gap-2 rounded-card border border-control bg-raised p-1.5 pl-3.5 transition-colors focus-within:border-ink">
        <textarea
          ref={field}
          rows={3}
          value={text}
          autoComplete="off"
          aria-label="First message of a new session"
          placeholder="What should the agent do?"
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
          className="max-h-60 min-h-12 w-full resize-none bg-transparent py-1.5 text-15 outline-none"
        />
        <Button
          type="submit"
          look="primary"
          size="icon"
          aria-label="Start a session with this message"
          pending={pending}
          disabled={problem !== null}
        >
          {!pending && <ArrowUp aria-hidden="true" className="size-4" strokeWidth={2} />}
        </Button>
      </div>
      {tooLong && <p className="text-12 text-danger">{tooLong}</p>}
    </form>
  );
}
