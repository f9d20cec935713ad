"use client";

import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { toActions } from "../../sandbox/sandbox-words.ts";
import { type RequestVerb, useVerbs } from "../../sandbox/use-verbs.tsx";
import { Button } from "../../ui/button.tsx";

/** What cannot be done now can still be reached, and says why: nobody loses the focus when a state changes. */
export function SandboxActions({ sandbox, request }: { sandbox: SandboxView; request: RequestVerb }) {
  const { choose, pending, dialog } = useVerbs({ sandbox, request, person: null });
  return (
    <div className="flex flex-wrap gap-2">
      {toActions(sandbox, Date.now()).map(({ verb, label, refusal, first }) => (
        <Button
          key={verb}
          size="small"
          look={first ? "primary" : "secondary"}
          className="pointer-coarse:h-10"
          pending={pending === verb}
          aria-disabled={refusal !== null || pending !== null || undefined}
          title={refusal ?? undefined}
          onClick={() => refusal || pending || choose(verb)}
        >
          {label}
        </Button>
      ))}
      {dialog}
    </div>
  );
}
