"use client";

import { type ReactNode, useState } from "react";
import type { LifecycleVerb, OperationOptions } from "@/server/protocol/lifecycle-verbs.ts";
import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import type { Outcome } from "../ui/outcome.ts";
import { useToldOutcome } from "../ui/use-told-outcome.ts";
import { ConfirmVerb } from "./confirm-verb.tsx";

export type RequestVerb = (input: { sandboxId: string; verb: LifecycleVerb } & OperationOptions) => Promise<Outcome>;

/** What the actions of a sandbox have in common, be they buttons or a menu: some need a second yes, all may be refused. */
export function useVerbs(props: {
  sandbox: SandboxView;
  request: RequestVerb;
  /** Whose it is, where that is somebody else. */
  person: string | null;
}): { choose: (verb: LifecycleVerb) => void; pending: LifecycleVerb | null; dialog: ReactNode } {
  const { sandbox, request, person } = props;
  const { id: sandboxId } = sandbox;
  const [asked, setAsked] = useState<LifecycleVerb | null>(null);
  const [chosen, setChosen] = useState<LifecycleVerb | null>(null);
  const { pending, run } = useToldOutcome();

  function choose(verb: LifecycleVerb) {
    if (verb === "recover" || verb === "reset") return setAsked(verb);
    setChosen(verb);
    run(() => request({ sandboxId, verb }));
  }

  const isConfirmed = asked === "recover" || asked === "reset";
  return {
    choose,
    pending: pending ? chosen : null,
    dialog: isConfirmed && (
      <ConfirmVerb {...{ sandbox, person, verb: asked, request }} onClose={() => setAsked(null)} />
    ),
  };
}
