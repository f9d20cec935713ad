"use client";

import { toast } from "sonner";
import type { Person } from "@/server/protocol/account-views.ts";
import { Badge, StateDot } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmButton } from "../ui/confirm-button.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { Cell, HeadCell, Row, RowActions, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { useToldOutcome } from "../ui/use-told-outcome.ts";

interface PeopleTableProps {
  people: Person[];
  ownId: string;
  disable: (id: string) => Promise<Outcome>;
  enable: (id: string) => Promise<Outcome>;
}

export function PeopleTable({ people, ownId, disable, enable }: PeopleTableProps) {
  return (
    <Table
      label="All people"
      head={
        <>
          <HeadCell>Name</HeadCell>
          <HeadCell className="max-sm:hidden">Email</HeadCell>
          <HeadCell className="max-sm:hidden">Role</HeadCell>
          <HeadCell>State</HeadCell>
          <HeadCell className="max-sm:hidden">Last seen</HeadCell>
          <HeadCell className="text-right">
            <span className="sr-only">Actions</span>
          </HeadCell>
        </>
      }
    >
      {people.map((person) => (
        <Row key={person.id}>
          <Cell className="font-medium max-sm:py-1.5">
            <span className="flex items-center gap-2">
              {person.name} {person.id === ownId && <Badge>You</Badge>}
            </span>
            <span className="block text-12 font-normal text-muted sm:hidden">{person.email}</span>
          </Cell>
          <Cell className="text-muted max-sm:hidden">{person.email}</Cell>
          <Cell className="max-sm:hidden">{person.role}</Cell>
          <Cell>
            <StateDot tone={person.disabledAt ? "danger" : "ok"}>{person.disabledAt ? "disabled" : "active"}</StateDot>
          </Cell>
          <Cell className="max-sm:hidden">
            {person.lastSeenAt ? <Time at={person.lastSeenAt} /> : <span className="text-muted">never</span>}
          </Cell>
          <Cell>
            <RowActions>
              {person.id !== ownId &&
                (person.disabledAt ? (
                  <EnableButton person={person} enable={enable} />
                ) : (
                  <DisableButton person={person} disable={disable} />
                ))}
            </RowActions>
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function DisableButton({ person, disable }: { person: Person; disable: PeopleTableProps["disable"] }) {
  return (
    <ConfirmButton
      label={`Disable ${person.name}`}
      title={`Disable ${person.name}?`}
      consequence={`${person.email} will be signed out everywhere at once and cannot sign in until enabled again. Sessions and files are kept.`}
      confirmLabel="Disable"
      confirm={() => disable(person.id)}
      onDone={() => toast.success(`${person.name} is disabled.`)}
    >
      Disable
    </ConfirmButton>
  );
}

function EnableButton({ person, enable }: { person: Person; enable: PeopleTableProps["enable"] }) {
  const { pending, run } = useToldOutcome();

  return (
    <Button
      look="quiet"
      size="small"
      pending={pending}
      aria-label={`Enable ${person.name}`}
      onClick={() =>
        run(
          () => enable(person.id),
          () => toast.success(`${person.name} can sign in again.`),
        )
      }
    >
      Enable
    </Button>
  );
}
