"use client";

import { type ReactNode, useId, useState } from "react";
import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { Checkbox } from "../ui/checkbox.tsx";
import { ConfirmDialog } from "../ui/confirm-button.tsx";
import { plural } from "./sandbox-words.ts";
import type { RequestVerb } from "./use-verbs.tsx";

interface ConfirmVerbProps {
  sandbox: SandboxView;
  verb: "recover" | "reset";
  person: string | null;
  request: RequestVerb;
  onClose: () => void;
}

/** Says what is lost and what is kept before a sandbox is recovered or reset. */
export function ConfirmVerb(props: ConfirmVerbProps) {
  return props.verb === "reset" ? <ConfirmReset {...props} /> : <ConfirmRecover {...props} />;
}

function ConfirmRecover({ sandbox, person, request, onClose }: ConfirmVerbProps) {
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => open || onClose()}
      title={person ? `Recover the sandbox of ${person}?` : "Recover this sandbox?"}
      consequence={
        <>
          <Line>Memory and files are saved if the sandbox still answers. Then it is stopped and started again.</Line>
          <Line name="Lost">whatever runs in it now, and changes that could not be saved.</Line>
          <Line name="Kept">transcripts, and the agent's memory and files as last saved.</Line>
        </>
      }
      confirmLabel="Recover"
      confirmLook="primary"
      confirm={() => request({ sandboxId: sandbox.id, verb: "recover" })}
      failureTitle="It cannot be recovered now"
    />
  );
}

const confirmation = "reset";

function ConfirmReset({ sandbox, person, request, onClose }: ConfirmVerbProps) {
  const [files, setFiles] = useState(false);
  const [word, setWord] = useState("");
  const fieldId = useId();
  const { id: sandboxId, sessionCount } = sandbox;
  const sessions = sessionCount === 1 ? "its session" : `all ${plural(sessionCount, "session")} in it`;
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => open || onClose()}
      title={person ? `Reset the sandbox of ${person}?` : "Reset this sandbox?"}
      consequence={
        <>
          <Line name="Lost for good">
            the agent's memory of {sessions}, and the settings in its home directory.
            {files && " All its files and their snapshots."} Whatever runs in it now ends.
          </Line>
          <Line name="Kept">{files ? "transcripts only." : "transcripts, files and their snapshots."}</Line>
        </>
      }
      choices={
        <div className="flex flex-col gap-3">
          <Checkbox checked={files} onChange={(event) => setFiles(event.target.checked)}>
            Also delete files and snapshots
          </Checkbox>
          {files && (
            <div className="flex flex-col gap-1.5">
              <label htmlFor={fieldId} className="text-13">
                Type <span className="font-mono text-12">{confirmation}</span> to confirm
              </label>
              <input
                id={fieldId}
                value={word}
                onChange={(event) => setWord(event.target.value)}
                autoComplete="off"
                autoCapitalize="off"
                spellCheck={false}
                className="h-9 rounded-control border border-control bg-raised px-3 font-mono text-13 transition-colors hover:border-muted focus-visible:border-ink focus-visible:outline-1 focus-visible:-outline-offset-2"
              />
            </div>
          )}
        </div>
      }
      ready={!files || word.trim().toLowerCase() === confirmation}
      confirmLabel={files ? "Reset and delete files" : "Reset"}
      confirm={() => request({ sandboxId, verb: "reset", files })}
      failureTitle="It cannot be reset now"
    />
  );
}

/** In a description, which is one paragraph. */
function Line({ name, children }: { name?: string; children: ReactNode }) {
  return (
    <span className="mb-1.5 block last:mb-0">
      {name && <span className="font-semibold text-ink">{name}: </span>}
      {children}
    </span>
  );
}
