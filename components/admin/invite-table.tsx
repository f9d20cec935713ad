"use client";

import { toast } from "sonner";
import type { Invite } from "@/server/protocol/account-views.ts";
import { type DotTone, StateDot } from "../ui/badge.tsx";
import { ConfirmButton } from "../ui/confirm-button.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { Cell, HeadCell, Row, RowActions, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

const tones: Record<Invite["state"], DotTone> = { open: "ok", used: "still", expired: "still", revoked: "danger" };

export function InviteTable({ invites, revoke }: { invites: Invite[]; revoke: (id: string) => Promise<Outcome> }) {
  return (
    <Table
      label="All invites"
      head={
        <>
          <HeadCell>State</HeadCell>
          <HeadCell>For</HeadCell>
          <HeadCell className="max-sm:hidden">Role</HeadCell>
          <HeadCell className="max-sm:hidden">Created</HeadCell>
          <HeadCell className="max-sm:hidden">Expires</HeadCell>
          <HeadCell className="text-right">
            <span className="sr-only">Actions</span>
          </HeadCell>
        </>
      }
    >
      {invites.map((invite) => (
        <Row key={invite.id}>
          <Cell>
            <StateDot tone={tones[invite.state]}>{invite.state}</StateDot>
          </Cell>
          <Cell className="max-w-72 truncate max-sm:max-w-40">
            {invite.note || <span className="text-muted">no note</span>}
          </Cell>
          <Cell className="max-sm:hidden">{invite.role}</Cell>
          <Cell className="max-sm:hidden">
            <Time at={invite.createdAt} />
          </Cell>
          <Cell className="max-sm:hidden">
            {invite.state === "open" ? <Time at={invite.expiresAt} ahead /> : <span className="text-muted">–</span>}
          </Cell>
          <Cell>
            <RowActions>
              {invite.state === "open" && (
                <ConfirmButton
                  label={`Revoke the invite ${invite.note ? `for ${invite.note}` : ""}`.trim()}
                  title="Revoke this invite?"
                  consequence="Its link stops working at once. You can create another."
                  confirmLabel="Revoke"
                  confirm={() => revoke(invite.id)}
                  onDone={() => toast.success("Invite revoked.")}
                >
                  Revoke
                </ConfirmButton>
              )}
            </RowActions>
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
