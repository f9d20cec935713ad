"use client";

import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { openOperation } from "../../sandbox/sandbox-words.ts";
import { useFollowing } from "../../sandbox/use-following.ts";
import type { RequestVerb } from "../../sandbox/use-verbs.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SandboxCard } from "./sandbox-card.tsx";
import type { ConfigureSandbox } from "./sleep-choices.tsx";

/** The person's own sandboxes, as they change. */
export function SandboxSettings(props: {
  sandboxes: SandboxView[];
  tenantIdleMinutes: number;
  request: RequestVerb;
  configure: ConfigureSandbox;
}) {
  const { sandboxes, ...rest } = props;
  useFollowing(sandboxes.some((sandbox) => openOperation(sandbox) !== null || sandbox.state === "provisioning"));
  if (sandboxes.length === 0) {
    return (
      <EmptyState title="No sandbox yet">
        It is made when you send the first message to an agent. You can then put it to sleep, wake it and repair it
        here.
      </EmptyState>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      {sandboxes.map((sandbox) => (
        <SandboxCard key={sandbox.id} sandbox={sandbox} {...rest} />
      ))}
    </div>
  );
}
