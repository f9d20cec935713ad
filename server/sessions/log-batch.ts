import { cleanJson } from "../lib/clean-text.ts";
import type { LogEntry, TextBody } from "../protocol/log-entry.ts";
import type { Draft, TakenDraft } from "./log-drafts.ts";

/** The batch as write_log reads it: what is new is counted, since its numbers are the database's. */
export function describeBatch(taken: readonly TakenDraft[], turnId: string | null): string {
  const made = new Map<Draft, number>();
  const changes = taken.map(({ draft, body, open, verbatim }) => {
    const { continues, under } = draft;
    if (draft.number !== null) {
      return { number: draft.number, open, body: withContinues(body, continues?.number ?? null), verbatim };
    }
    made.set(draft, made.size + 1);
    return {
      make: made.size,
      kind: draft.kind,
      key: draft.key,
      turn: draft.turnId ?? turnId,
      ...(under && (under.number === null ? { underMade: made.get(under as Draft) } : { under: under.number })),
      ...(continues && continues.number === null && { continuesMade: made.get(continues) }),
      open,
      body: withContinues(body, continues?.number ?? null),
      verbatim,
      at: draft.at,
    };
  });
  return cleanJson(changes);
}

/** The entry as it is in the log now; `draft` has its number and version. */
export function toEntry(taken: Pick<TakenDraft, "draft" | "body" | "open">, turnId: string | null): LogEntry {
  const { draft, body, open } = taken;
  return {
    number: draft.number ?? 0,
    version: draft.version,
    turnId: draft.turnId ?? turnId,
    kind: draft.kind,
    open,
    under: draft.under?.number ?? null,
    at: draft.at,
    body: withContinues(body, draft.continues?.number ?? null),
  } as LogEntry;
}

function withContinues(body: TakenDraft["body"], number: number | null): TakenDraft["body"] {
  return number === null ? body : { ...(body as TextBody), continues: number };
}
