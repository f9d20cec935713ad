"use client";

import { Ellipsis } from "lucide-react";
import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { toActions } from "../sandbox/sandbox-words.ts";
import { type RequestVerb, useVerbs } from "../sandbox/use-verbs.tsx";
import { buttonClasses } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { Spinner } from "../ui/spinner.tsx";

/** What an admin can do with a sandbox. */
export function SandboxMenu({ sandbox, request }: { sandbox: SandboxView; request: RequestVerb }) {
  const { choose, pending, dialog } = useVerbs({ sandbox, request, person: sandbox.personName });
  return (
    <>
      <Menu
        trigger={
          <>
            <span className="sr-only">Actions for the sandbox of {sandbox.personName}</span>
            {pending ? (
              <Spinner className="text-muted" />
            ) : (
              <Ellipsis aria-hidden="true" className="size-4 text-muted" strokeWidth={1.75} />
            )}
          </>
        }
        triggerClassName={buttonClasses({ look: "quiet", size: "icon" })}
      >
        {toActions(sandbox, Date.now()).map(({ verb, label, refusal }) => (
          <MenuItem key={verb} refusal={refusal} onClick={() => choose(verb)}>
            {label}
          </MenuItem>
        ))}
      </Menu>
      {dialog}
    </>
  );
}
