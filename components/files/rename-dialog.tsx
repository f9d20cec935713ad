"use client";

import { maxFileNameBytes, tooLongFileName } from "@/server/protocol/limits.ts";
import { toNamePieces } from "@/server/protocol/shown-name.ts";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import { moveFile } from "../session/session-api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Form, FormFailure, SubmitButton } from "../ui/form.tsx";
import { FileName } from "./file-name.tsx";
import { parentOf } from "./folders.ts";

interface RenameDialogProps {
  sessionId: string;
  entry: FileEntry;
  onClose: () => void;
  onRenamed: (path: string) => void;
}

/** Within its folder. Only what can be typed is suggested: the rest of a name may be what it is renamed for. */
export function RenameDialog({ sessionId, entry, onClose, onRenamed }: RenameDialogProps) {
  const suggested = typable(entry.name);
  const parent = parentOf(entry.path);

  async function rename(name: string) {
    const problem = problemOf(name);
    if (problem) return { ok: false as const, message: problem };
    const path = parent === "" ? name : `${parent}/${name}`;
    const outcome = path === entry.path ? { ok: true as const } : await moveFile(sessionId, entry.path, path);
    return outcome.ok ? { ...outcome, path } : outcome;
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => open || onClose()}
      title={entry.kind === "directory" ? "Rename this folder" : "Rename this file"}
      description={
        <span className="whitespace-pre-wrap font-mono text-12 [overflow-wrap:anywhere]">
          <FileName name={entry.name} />
        </span>
      }
    >
      <Form submit={({ name = "" }) => rename(name)} onSuccess={({ path }) => onRenamed(path)}>
        <Field
          name="name"
          label="New name"
          defaultValue={suggested}
          messages={{ missing: "Enter a name." }}
          required
          mono
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          onFocus={(event) => event.target.setSelectionRange(0, stemLength(suggested))}
        />
        <FormFailure />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton>Rename</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}

function problemOf(name: string): string | null {
  if (name.includes("/")) return "A name cannot contain “/”.";
  if (name === "." || name === "..") return `“${name}” cannot be a name.`;
  if (new TextEncoder().encode(name).length > maxFileNameBytes) return tooLongFileName;
  return null;
}

/** A line of text cannot hold all that a name can. Backslashes are spelt out, yet typed. */
function typable(name: string): string {
  const pieces = toNamePieces(name).map(({ text, isSpelt }) => (isSpelt && text !== "\\\\" ? "_" : text));
  return pieces.join("").replaceAll("\\\\", "\\");
}

/** Without the ending, which mostly stays. */
function stemLength(name: string): number {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? dot : name.length;
}
