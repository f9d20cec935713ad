"use client";

import { ArrowUp, Square } from "lucide-react";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/form.tsx";
import { useOutcome } from "../../ui/use-outcome.ts";
import { stopTurn } from "../session-api.ts";
import { promptProblem } from "./outbox.ts";
import { useDraft } from "./use-draft.ts";

const tallestText = 20_000;

interface ComposerProps {
  sessionId: string;
  running: boolean;
  stopRequested: boolean;
  /** Beside the buttons: how sandbox and memory are. */
  status: ReactNode;
  onSend: (text: string) => void;
  /** With each change by hand, never for a draft that was kept. */
  onType: (text: string) => void;
  /** A message that was taken back, to be written on. */
  returned: { text: string } | null;
}

export function Composer(props: ComposerProps) {
  const { sessionId, running, stopRequested, status, onSend, onType, returned } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, write] = useDraft(sessionId, field);
  const { failure, run } = useOutcome();
  const hintId = useId();
  const problem = promptProblem(text);
  const [refused, setRefused] = useState<string | null>(null);
  const tooLong = problem !== null && problem !== "empty" ? problem : refused;

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each message that comes back
  useEffect(() => {
    if (!returned) return;
    write(text ? `${returned.text}\n${text}` : returned.text);
    field.current?.focus();
  }, [returned]);
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    // Measuring a text that fills the field many times over takes longer than anybody waits.
    element.style.height = text.length > tallestText ? "100vh" : "auto";
    if (text.length > tallestText) return;
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);

  /** Browsers take minutes to insert a megabyte; what cannot be sent is not worth that. */
  function onPaste(event: ClipboardEvent) {
    const pasted = promptProblem(event.clipboardData.getData("text"));
    const isTooLong = pasted !== null && pasted !== "empty";
    setRefused(isTooLong ? pasted : null);
    if (isTooLong) event.preventDefault();
  }

  function send() {
    if (problem) return;
    onSend(text);
    write("");
    onType("");
  }

  function stop() {
    if (running && !stopRequested) run(() => stopTurn(sessionId));
  }

  function onKeyDown(event: KeyboardEvent) {
    // Enter that ends a composition (Japanese, Chinese, accents) is not meant for us.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
    if (event.key === "Escape") stop();
  }

  return (
    <div className="flex flex-col gap-2">
      {failure && <FailureNotice failure={failure} />}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
        className="flex flex-col rounded-card border border-control bg-raised transition-colors focus-within:border-ink"
      >
        <textarea
          ref={field}
          rows={1}
          value={text}
          autoComplete="off"
          aria-label="Message to the agent"
          aria-describedby={hintId}
          aria-invalid={tooLong ? true : undefined}
          placeholder={running ? "Write the next message. It will be queued." : "What should the agent do?"}
          onChange={(event) => {
            setRefused(null);
            write(event.target.value);
            onType(event.target.value);
          }}
          onPaste={onPaste}
          onKeyDown={onKeyDown}
          className="max-h-60 min-h-12 w-full resize-none overflow-y-auto bg-transparent px-3.5 pt-3 pb-1 text-15 outline-none"
        />
        <div className="flex min-h-11 items-center gap-2 py-1.5 pr-1.5 pl-3.5">
          <div id={hintId} className="min-w-0 flex-1 text-12 text-muted">
            {tooLong ? <span className="text-danger">{tooLong}</span> : status}
          </div>
          {running && (
            <Button size="small" className="pointer-coarse:h-10" pending={stopRequested} onClick={stop}>
              {!stopRequested && <Square aria-hidden="true" className="size-3 fill-current" />}
              {stopRequested ? "Stopping" : "Stop"}
            </Button>
          )}
          <Button
            type="submit"
            look="primary"
            size="icon"
            aria-label={running ? "Queue this message" : "Send"}
            title={problem === "empty" ? "Write something first" : undefined}
            disabled={problem !== null}
          >
            <ArrowUp aria-hidden="true" className="size-4" strokeWidth={2} />
          </Button>
        </div>
      </form>
    </div>
  );
}
