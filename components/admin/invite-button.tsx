"use client";

import { Plus } from "lucide-react";
import { useState } from "react";
import { maxInviteNoteLength } from "@/server/protocol/limits.ts";
import type { Role } from "@/server/protocol/roles.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, SelectField } from "../ui/field.tsx";
import { Form, FormFailure, SubmitButton } from "../ui/form.tsx";
import type { Outcome } from "../ui/outcome.ts";

type CreateInvite = (input: { role: Role; note: string }) => Promise<Outcome<{ url: string }>>;

export function InviteButton({ create }: { create: CreateInvite }) {
  const [open, setOpen] = useState(false);
  const [url, setUrl] = useState<string | null>(null);

  return (
    <>
      <Button
        onClick={() => {
          setUrl(null);
          setOpen(true);
        }}
      >
        <Plus aria-hidden="true" className="size-4" strokeWidth={1.75} />
        Invite somebody
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title={url ? "The invite is ready" : "Invite somebody"}
        description={url ? "Send this link to the person. It is shown only once: Dormouse keeps no copy." : undefined}
      >
        {url ? <InviteLink url={url} /> : <InviteForm create={create} onCreated={setUrl} />}
      </Dialog>
    </>
  );
}

function InviteForm({ create, onCreated }: { create: CreateInvite; onCreated: (url: string) => void }) {
  return (
    <Form
      label="New invite"
      submit={({ role, note = "" }) => create({ role: role === "admin" ? "admin" : "user", note })}
      onSuccess={({ url }) => onCreated(url)}
    >
      <Field
        name="note"
        label="Who is it for?"
        maxLength={maxInviteNoteLength}
        autoComplete="off"
        hint="A note for you and other admins. Nothing is sent."
      />
      <SelectField
        name="role"
        label="Role"
        defaultValue="user"
        hint="Admins see every sandbox, invite people and choose models. Nobody can read another person's sessions."
      >
        <option value="user">User</option>
        <option value="admin">Admin</option>
      </SelectField>
      <FormFailure />
      <div className="flex justify-end">
        <SubmitButton>Create invite</SubmitButton>
      </div>
    </Form>
  );
}

function InviteLink({ url }: { url: string }) {
  return (
    <div className="flex gap-2">
      <input
        aria-label="Invite link"
        readOnly
        value={url}
        onFocus={(event) => event.currentTarget.select()}
        className="h-9 min-w-0 flex-1 rounded-control border border-control bg-panel px-3 font-mono text-12"
      />
      <CopyButton text={url} label="Copy link" />
    </div>
  );
}
