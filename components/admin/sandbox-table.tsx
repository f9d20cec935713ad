import { type DotTone, StateDot } from "../ui/badge.tsx";
import { Cell, HeadCell, Row, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

type SandboxState = "provisioning" | "running" | "sleeping" | "failed" | "terminated";

export interface SandboxView {
  id: string;
  personName: string;
  personEmail: string;
  backend: string;
  isolation: string;
  state: SandboxState;
  wantedState: SandboxState;
  cause: string | null;
  sessionCount: number;
  lastActiveAt: Date | null;
  createdAt: Date;
}

const tones: Record<SandboxState, DotTone> = {
  provisioning: "working",
  running: "awake",
  sleeping: "asleep",
  failed: "danger",
  terminated: "still",
};

export function SandboxTable({ sandboxes }: { sandboxes: SandboxView[] }) {
  return (
    <Table
      label="All sandboxes"
      head={
        <>
          <HeadCell>State</HeadCell>
          <HeadCell>Person</HeadCell>
          <HeadCell>Runs as</HeadCell>
          <HeadCell className="text-right">Sessions</HeadCell>
          <HeadCell>Last active</HeadCell>
          <HeadCell>Created</HeadCell>
          <HeadCell>Cause</HeadCell>
        </>
      }
    >
      {sandboxes.map((sandbox) => (
        <Row key={sandbox.id}>
          <Cell>
            <StateDot tone={tones[sandbox.state]}>{stateInWords(sandbox)}</StateDot>
          </Cell>
          <Cell>
            {sandbox.personName} <span className="ml-1 text-muted">{sandbox.personEmail}</span>
          </Cell>
          <Cell className="font-mono text-12">
            {sandbox.backend} · {sandbox.isolation}
          </Cell>
          <Cell className="text-right">{sandbox.sessionCount}</Cell>
          <Cell>
            {sandbox.lastActiveAt ? <Time at={sandbox.lastActiveAt} /> : <span className="text-muted">never</span>}
          </Cell>
          <Cell>
            <Time at={sandbox.createdAt} />
          </Cell>
          <Cell className="max-w-80 truncate text-muted" title={sandbox.cause ?? undefined}>
            {sandbox.cause ?? "–"}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function stateInWords({ state, wantedState }: SandboxView): string {
  return state === wantedState ? state : `${state} → ${wantedState}`;
}
