"use client";

import type { QueuedTurn } from "@/server/protocol/session-events.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/form.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Spinner } from "../../ui/spinner.tsx";
import { useOutcome } from "../../ui/use-outcome.ts";
import type { OutboxItem } from "./outbox.ts";
import { QueueRow } from "./queue-row.tsx";
import { useWholeQueue } from "./use-whole-queue.ts";

interface QueueListProps {
  sessionId: string;
  /** The first that wait, and the ids of those behind them. */
  queue: readonly QueuedTurn[];
  rest: readonly string[];
  /** A turn runs, which what waits can be sent into. */
  running: boolean;
  outbox: readonly OutboxItem[];
  onRetry: (key: string) => void;
  onTakeBack: (key: string) => void;
}

/** What waits for its turn, and what did not get through. */
export function QueueList({ sessionId, queue, rest, running, outbox, onRetry, onTakeBack }: QueueListProps) {
  const { pending, failure, run } = useOutcome();
  const { shown, hidden, loading, problem, open } = useWholeQueue(sessionId, queue, rest);
  const order = [...queue.map(({ id }) => id), ...rest];
  const failed = outbox.filter((item) => item.problem !== null);
  const underWay = outbox.filter((item) => item.problem === null);
  const waits = queue.length + underWay.length > 0;
  if (!waits && failed.length === 0) return null;
  return (
    <div className="flex flex-col gap-2">
      {waits && (
        <ul aria-label="Queue" className="flex flex-col divide-y divide-line rounded-card border border-line bg-raised">
          {shown.map((turn) => (
            <QueueRow
              key={turn.id}
              sessionId={sessionId}
              turn={turn}
              running={running}
              pending={pending}
              before={neighbours(order, order.indexOf(turn.id))}
              run={run}
            />
          ))}
          {hidden > 0 && (
            <li className="flex min-h-9 items-center px-3 text-13 text-muted">
              <Button size="small" look="quiet" pending={loading} onClick={open}>
                and {hidden} more
              </Button>
            </li>
          )}
          {underWay.map((item) => (
            <li key={item.key} className="flex min-h-9 items-center gap-2 px-3 text-13">
              <Spinner className="size-3.5 text-muted" />
              <span className="min-w-0 flex-1 truncate">{item.text}</span>
              <span className="shrink-0 text-12 text-muted">Sending</span>
            </li>
          ))}
        </ul>
      )}
      {failure && <FailureNotice failure={failure} />}
      {problem && <FailureNotice failure={problem} />}
      {failed.map((item) => (
        <Notice key={item.key} tone="danger" title="This message was not sent" announce>
          <p className="truncate">{item.text}</p>
          <p className="text-muted">{item.problem}</p>
          <p className="mt-2 flex gap-2">
            <Button size="small" onClick={() => onRetry(item.key)}>
              Send again
            </Button>
            <Button size="small" look="quiet" onClick={() => onTakeBack(item.key)}>
              Edit
            </Button>
          </p>
        </Notice>
      ))}
    </div>
  );
}

/** Up: before the one above. Down: before the one after the next, or to the end. */
function neighbours(order: readonly string[], index: number) {
  const isLast = index + 1 >= order.length;
  return { up: order[index - 1], down: isLast ? undefined : (order[index + 2] ?? null) };
}
