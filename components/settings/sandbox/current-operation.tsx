"use client";

import { useEffect, useState } from "react";
import type { OperationView, SandboxView } from "@/server/protocol/sandbox-views.ts";
import { currentStep, openOperation, overdueAdvice, toSteps } from "../../sandbox/sandbox-words.ts";
import { StepList } from "../../sandbox/step-list.tsx";
import { Notice } from "../../ui/notice.tsx";

/** What is being done to a sandbox now, step by step; nothing where nothing is. */
export function CurrentOperation({ sandbox }: { sandbox: SandboxView }) {
  const operation = openOperation(sandbox);
  return operation && <OpenOperation key={operation.id} operation={operation} />;
}

const why: Partial<Record<OperationView["reason"], string>> = {
  idle: "It was not used for a while.",
  "server-stopped": "The server is being stopped.",
  failed: "It failed the last time.",
  unreachable: "It no longer answered.",
  "other-version": "It is being updated to this version of Dormouse.",
  damaged: "Its memory was damaged.",
};

function OpenOperation({ operation }: { operation: OperationView }) {
  const isOverdue = useIsOver(operation.deadlineAt);
  const { reason, requestedBy } = operation;
  const asked = requestedBy ? `Requested by ${requestedBy}.` : why[reason];
  return (
    <div className="flex flex-col gap-3 rounded-card border border-line bg-panel px-4 py-3">
      {asked && <p className="text-12 text-muted">{asked}</p>}
      <StepList steps={toSteps(operation)} />
      {isOverdue && (
        <Notice title={`${currentStep(operation)} is taking longer than it should`}>{overdueAdvice(operation)}</Notice>
      )}
    </div>
  );
}

/** Known in the browser only, whose clock goes on while nothing comes from the server. */
function useIsOver(at: Date): boolean {
  const [isOver, setOver] = useState(false);
  const time = at.getTime();
  useEffect(() => {
    const look = () => setOver(Date.now() > time);
    look();
    const timer = setInterval(look, 1_000);
    return () => clearInterval(timer);
  }, [time]);
  return isOver;
}
