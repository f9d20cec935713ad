"use client";

import type { ReactNode } from "react";
import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { HomeMachine } from "../../sandbox/home-machine.tsx";
import { stateWords, toProblem, whereWords } from "../../sandbox/sandbox-words.ts";
import { SavedTime, UnsavedSince } from "../../sandbox/saved-words.tsx";
import type { RequestVerb } from "../../sandbox/use-verbs.tsx";
import { StateDot } from "../../ui/badge.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Time } from "../../ui/time.tsx";
import { CurrentOperation } from "./current-operation.tsx";
import { SandboxActions } from "./sandbox-actions.tsx";
import { type ConfigureSandbox, SleepChoices } from "./sleep-choices.tsx";

/** One sandbox of the person: how it is, what is being done to it, and all that can be. */
export function SandboxCard(props: {
  sandbox: SandboxView;
  tenantIdleMinutes: number;
  request: RequestVerb;
  configure: ConfigureSandbox;
}) {
  const { sandbox, tenantIdleMinutes, request, configure } = props;
  const { tone, word } = stateWords(sandbox);
  return (
    <article aria-label={whereWords(sandbox)} className="flex flex-col rounded-card border border-line bg-raised">
      <header className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 px-5 pt-4">
        <h3 className="text-15">
          <StateDot tone={tone}>{word}</StateDot>
        </h3>
        <p className="text-13 text-muted">{whereWords(sandbox)}</p>
      </header>
      <div className="flex flex-col gap-4 px-5 pt-3 pb-5">
        <ProblemNotice sandbox={sandbox} />
        <CurrentOperation sandbox={sandbox} />
        <Facts sandbox={sandbox} />
        <SandboxActions sandbox={sandbox} request={request} />
      </div>
      <div className="border-t border-line px-5 py-3">
        <SleepChoices sandbox={sandbox} tenantIdleMinutes={tenantIdleMinutes} configure={configure} />
      </div>
    </article>
  );
}

function ProblemNotice({ sandbox }: { sandbox: SandboxView }) {
  const problem = toProblem(sandbox);
  if (!problem) {
    return sandbox.cause && <Notice>{sandbox.cause}</Notice>;
  }
  const { noSleepBefore, operation } = sandbox;
  const triesAgain = operation?.state === "failed" && operation.verb === "sleep" && noSleepBefore;
  return (
    <Notice tone="danger" title={problem.title}>
      {problem.cause && <p>{problem.cause}</p>}
      {problem.advice && <p className="text-muted">{problem.advice}</p>}
      {triesAgain && (
        <p className="text-muted">
          Sleeping is tried again <Time at={noSleepBefore} ahead justNow="soon" />.
        </p>
      )}
    </Notice>
  );
}

function Facts({ sandbox }: { sandbox: SandboxView }) {
  const { home, lastActiveAt, sessionCount, unsavedSince } = sandbox;
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 text-13">
      <Fact name="Last used">{lastActiveAt ? <Time at={lastActiveAt} justNow="just now" /> : "never"}</Fact>
      <Fact name="Memory saved">
        <SavedTime {...sandbox} />
      </Fact>
      {unsavedSince && (
        <Fact name="Not saved">
          <span className="text-danger">
            <UnsavedSince {...sandbox} />
          </span>
        </Fact>
      )}
      <Fact name="Sessions">{sessionCount}</Fact>
      {home && (
        <Fact name="Machine">
          <HomeMachine home={home} />
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 tabular-nums [overflow-wrap:anywhere]">{children}</dd>
    </>
  );
}
