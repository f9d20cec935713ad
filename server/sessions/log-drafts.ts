import type { LogChange } from "../agent/index.ts";
import { cleanText, cleanValue, endsInHalfPair } from "../lib/clean-text.ts";
import {
  type EntryBody,
  type EntryKind,
  type LogDelta,
  type LogEntry,
  maxTextPerEntry,
  type TextBody,
} from "../protocol/log-entry.ts";
import { splitText, takePiece } from "./text-pieces.ts";

/**
 * One entry as its writer holds it. A draft is new until it has a number; then viewers know it, and
 * text that is appended can be shown at once. After a rewrite viewers hold another text, so deltas
 * wait until the entry was sent whole again (`live`).
 */
export interface Draft {
  readonly key: string | null;
  readonly kind: EntryKind;
  /** Set where it is not the writer's own turn. */
  readonly turnId: string | null;
  readonly at: string;
  readonly under: { number: number | null } | null;
  readonly continues: Draft | null;
  number: number | null;
  version: number;
  body: EntryBody;
  open: boolean;
  verbatim: unknown;
  /** What has to be written: nothing, only more text, or anything else. */
  change: "none" | "grown" | "whole";
  live: boolean;
}

/** All entries that one key names: text that was too long for one goes on in the next. */
interface Chain {
  drafts: [Draft, ...Draft[]];
  /** Half of a surrogate pair whose other half has not come yet. */
  half: string;
  closed: boolean;
}

/** What a batch writes: the draft as it was when it was taken. */
export interface TakenDraft {
  draft: Draft;
  change: "grown" | "whole";
  body: EntryBody;
  open: boolean;
  verbatim: unknown;
}

export interface Drafts {
  /** Returns what viewers may be shown before it is durable. */
  apply(change: Exclude<LogChange, { type: "title" | "discard" }>): LogDelta[];
  /** Marks what the keys name; returns it, new drafts too. */
  discard(keys: readonly string[]): Draft[];
  add(kind: EntryKind, body: EntryBody, turnId?: string): Draft;
  /** Open entries that nobody will go on writing: closed as they are; asks are withdrawn, and what still ran has failed. */
  closeAll(): LogDelta[];
  readonly dirty: ReadonlySet<Draft>;
  /** Takes what is dirty, in order of creation. */
  take(): TakenDraft[];
  /** After a failed write. */
  putBack(taken: readonly TakenDraft[]): void;
}

const isPendingAsk = ({ kind, body }: Draft) => kind === "ask" && (body as EntryBody<"ask">).state === "pending";
const isAtWork = ({ kind, body }: Draft) =>
  kind === "tool_call" && ["pending", "in_progress"].includes((body as EntryBody<"tool_call">).status);
const cutOff = { status: "failed", error: "The turn ended before this finished." };
const isText = (kind: EntryKind) => kind === "agent_message" || kind === "agent_thought";
export const textOf = (draft: Draft): string => (draft.body as TextBody).text;

export function createDrafts(restored: readonly (LogEntry & { key: string })[] = []): Drafts {
  const chains = restoreChains(restored);
  const dirty = new Set<Draft>();

  const mark = (draft: Draft, change: "grown" | "whole") => {
    if (change === "whole") draft.live = false;
    if (draft.change !== "whole") draft.change = change;
    dirty.add(draft);
  };
  const make = (
    input: Pick<Draft, "key" | "kind" | "under" | "continues" | "body" | "open">,
    turnId: string | null = null,
  ): Draft => {
    const draft: Draft = {
      ...input,
      turnId,
      at: new Date().toISOString(),
      number: null,
      version: 0,
      verbatim: undefined,
      change: "whole",
      live: false,
    };
    dirty.add(draft);
    return draft;
  };
  const goOn = (chain: Chain, text: string): Draft => {
    const [first] = chain.drafts;
    const last = chain.drafts.at(-1) ?? first;
    const { key, kind, under } = first;
    closeDraft(last);
    const next = make({ key, kind, under, continues: last, body: { text }, open: !chain.closed });
    chain.drafts.push(next);
    return next;
  };
  const closeDraft = (draft: Draft) => {
    if (!draft.open) return;
    draft.open = false;
    mark(draft, "whole");
  };
  const setText = (draft: Draft, text: string, change: "grown" | "whole") => {
    draft.body = { ...(draft.body as TextBody), text };
    mark(draft, change);
  };

  function append(chain: Chain, text: string): LogDelta[] {
    const deltas: LogDelta[] = [];
    let rest = chain.half + text;
    chain.half = "";
    if (endsInHalfPair(rest)) {
      chain.half = rest.slice(-1);
      rest = rest.slice(0, -1);
    }
    rest = cleanText(rest);
    while (rest.length > 0) {
      const last = chain.drafts.at(-1) ?? chain.drafts[0];
      const before = textOf(last);
      const piece = takePiece(rest, maxTextPerEntry - before.length);
      if (piece === "") {
        goOn(chain, "");
        continue;
      }
      // Viewers take no more deltas for an entry that is final.
      setText(last, before + piece, last.open ? "grown" : "whole");
      if (last.live && last.number !== null) deltas.push({ number: last.number, offset: before.length, text: piece });
      rest = rest.slice(piece.length);
    }
    return deltas;
  }

  function replaceText(chain: Chain, given: string): LogDelta[] {
    chain.half = "";
    const text = cleanText(given);
    const before = chain.drafts.map(textOf).join("");
    if (text.startsWith(before)) return append(chain, text.slice(before.length));
    const pieces = splitText(text);
    for (const [index, piece] of pieces.entries()) {
      const draft = chain.drafts[index];
      if (!draft) goOn(chain, piece);
      else if (textOf(draft) !== piece) setText(draft, piece, "whole");
    }
    // What was said and taken back stays numbered, and empty.
    for (const draft of chain.drafts.slice(pieces.length)) setText(draft, "", "whole");
    return [];
  }

  function open(change: Extract<LogChange, { type: "open" }>): LogDelta[] {
    const { key, kind, body, under } = change;
    const known = chains.get(key);
    if (known) return replace(known, body);
    const above = under === null ? null : (chains.get(under)?.drafts[0] ?? null);
    const first = make({
      key,
      kind,
      under: above,
      continues: null,
      body: isText(kind) ? { ...body, text: "" } : cleanValue(body),
      open: true,
    });
    const chain: Chain = { drafts: [first], half: "", closed: false };
    chains.set(key, chain);
    return isText(kind) ? append(chain, (body as TextBody).text) : [];
  }

  function replace(chain: Chain, given: EntryBody): LogDelta[] {
    const [first] = chain.drafts;
    if (isText(first.kind)) return replaceText(chain, (given as TextBody).text);
    const body = cleanValue(given);
    if (JSON.stringify(first.body) !== JSON.stringify(body)) {
      first.body = body;
      mark(first, "whole");
    }
    return [];
  }

  function close(chain: Chain, verbatim: unknown): LogDelta[] {
    const [first] = chain.drafts;
    const unfinished = chain.half;
    chain.half = "";
    const deltas = unfinished ? append(chain, "\uFFFD") : [];
    chain.closed = true;
    for (const draft of chain.drafts) closeDraft(draft);
    if (verbatim !== undefined && verbatim !== null) {
      first.verbatim = verbatim;
      mark(first, "whole");
    }
    return deltas;
  }

  const closeChain = (key: string) => {
    const chain = chains.get(key);
    if (chain) Object.assign(chain, { half: "", closed: true });
  };

  return {
    apply(change) {
      if (change.type === "open") return open(change);
      const chain = chains.get(change.key);
      if (!chain) return [];
      if (change.type === "append") return append(chain, change.text);
      if (change.type === "replace") return replace(chain, change.body);
      return close(chain, change.verbatim);
    },
    discard(keys) {
      const named = keys.flatMap((key) => chains.get(key)?.drafts ?? []);
      for (const draft of named) {
        draft.body = { ...draft.body, discarded: true } as EntryBody;
        draft.open = false;
        mark(draft, "whole");
      }
      for (const key of keys) closeChain(key);
      return named;
    },
    add: (kind, body, turnId) =>
      make({ key: null, kind, under: null, continues: null, body: cleanValue(body), open: false }, turnId),
    closeAll: () =>
      [...chains.values()].flatMap((chain) => {
        const [first] = chain.drafts;
        if (first.open && isPendingAsk(first)) replace(chain, { ...first.body, state: "withdrawn" } as EntryBody);
        if (first.open && isAtWork(first)) replace(chain, { ...first.body, ...cutOff } as EntryBody);
        return close(chain, undefined);
      }),
    dirty,
    take() {
      const taken = [...dirty].map((draft) => {
        const { change, body, open, verbatim } = draft;
        draft.change = "none";
        draft.verbatim = undefined;
        return { draft, change: change === "grown" ? change : ("whole" as const), body, open, verbatim };
      });
      dirty.clear();
      return taken;
    },
    putBack(taken) {
      const since = [...dirty];
      dirty.clear();
      for (const { draft, change, verbatim } of taken) {
        if (draft.change !== "whole") draft.change = change;
        draft.verbatim ??= verbatim;
        dirty.add(draft);
      }
      for (const draft of since) dirty.add(draft);
    },
  };
}

function restoreChains(rows: readonly (LogEntry & { key: string })[]): Map<string, Chain> {
  const chains = new Map<string, Chain>();
  for (const row of rows) {
    const chain = chains.get(row.key);
    const { key, kind, at, number, version, open } = row;
    const { continues: _, ...body } = row.body as TextBody;
    const draft: Draft = {
      key,
      kind,
      turnId: null,
      at,
      number,
      version,
      open,
      body: isText(kind) ? body : row.body,
      under: row.under === null ? null : { number: row.under },
      continues: chain?.drafts.at(-1) ?? null,
      verbatim: undefined,
      change: "none",
      live: true,
    };
    if (chain) {
      chain.drafts.push(draft);
      chain.closed = !open;
    } else chains.set(key, { drafts: [draft], half: "", closed: !open });
  }
  return chains;
}
