import type { SandboxState } from "@/server/protocol/sandbox.ts";
import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { type DotTone, StateDot } from "../ui/badge.tsx";
import { Cell, HeadCell, Row, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

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
          <HeadCell className="max-sm:hidden">Runs as</HeadCell>
          <HeadCell className="max-sm:hidden">Machine</HeadCell>
          <HeadCell className="text-right max-sm:hidden">Sessions</HeadCell>
          <HeadCell>Last active</HeadCell>
          <HeadCell className="max-sm:hidden">Created</HeadCell>
          <HeadCell className="max-sm:hidden">Cause</HeadCell>
        </>
      }
    >
      {sandboxes.map((sandbox) => (
        <Row key={sandbox.id}>
          <Cell className="max-sm:py-1.5 max-sm:whitespace-normal">
            <StateDot tone={sandbox.home?.isAway ? "still" : tones[sandbox.state]}>{sandbox.state}</StateDot>
            {sandbox.wantedState !== sandbox.state && (
              <span className="max-sm:block max-sm:pl-4 max-sm:text-12 max-sm:text-muted">
                {" "}
                → {sandbox.wantedState}
              </span>
            )}
            {sandbox.home?.isAway && (
              <span className="block pl-4 text-12 text-danger sm:hidden">{sandbox.home.machine ?? "machine"} away</span>
            )}
            {sandbox.cause && <span className="block pl-4 text-12 text-muted sm:hidden">{sandbox.cause}</span>}
          </Cell>
          <Cell className="max-sm:max-w-28 max-sm:truncate max-sm:py-1.5">
            {sandbox.personName}{" "}
            <span className="text-muted max-sm:block max-sm:truncate max-sm:text-12 sm:ml-1">
              {sandbox.personEmail}
            </span>
          </Cell>
          <Cell className="font-mono text-12 max-sm:hidden">
            {sandbox.backend} · {sandbox.isolation}
          </Cell>
          <Cell className="max-sm:hidden">
            <Home home={sandbox.home} />
          </Cell>
          <Cell className="text-right max-sm:hidden">{sandbox.sessionCount}</Cell>
          <Cell>
            {sandbox.lastActiveAt ? <Time at={sandbox.lastActiveAt} /> : <span className="text-muted">never</span>}
          </Cell>
          <Cell className="max-sm:hidden">
            <Time at={sandbox.createdAt} />
          </Cell>
          <Cell className="min-w-48 py-1.5 whitespace-normal text-muted max-sm:hidden">{sandbox.cause ?? "–"}</Cell>
        </Row>
      ))}
    </Table>
  );
}

/** The machine that alone can run it. */
function Home({ home }: { home: SandboxView["home"] }) {
  if (!home) return <span className="text-muted">any</span>;
  const name = home.machine ?? "unknown";
  if (!home.isAway) return name;
  return (
    <>
      {name}{" "}
      <span className="text-danger">
        away
        {home.seenAt && (
          <>
            , last seen <Time at={home.seenAt} justNow="just now" />
          </>
        )}
      </span>
    </>
  );
}
