import { type SQL, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { sessionId as sessionIdSchema } from "../protocol/ids.ts";
import type { LogEntry, LogPage, TextBody } from "../protocol/log-entry.ts";
import { type EntryRow, toEntry } from "./read-log.ts";

/**
 * The log is read in pages, whatever its length. Two bounds hold for each, of which one entry alone may exceed the
 * second; a text is never cut where one entry continues another, so the longest text comes on top.
 */
export interface PageLimits {
  entries: number;
  bytes: number;
}

export const pageLimits: PageLimits = { entries: 500, bytes: 1024 * 1024 };

/** What changed, ascending by number. */
export interface ChangesPage {
  entries: LogEntry[];
  /** Where to go on: everything up to it was read. The session's own version on the last page. */
  version: number;
  more: boolean;
}

interface Reading {
  actor: Actor;
  sessionId: string;
  limits: PageLimits;
}

const columns = sql.raw("number, version, turn_id, kind, open, under, body, key, created_at as at");
const list = (values: readonly unknown[]) => sql`(select jsonb_array_elements_text(${JSON.stringify(values)}::jsonb))`;

/**
 * The oldest changes after a version, in the order of versions: what is written meanwhile has a higher one and comes
 * with a later page. One statement, so that entries and version are of one moment. Null when the session is not
 * this person's.
 */
export async function readChanges(
  database: Database,
  { actor, sessionId, limits, after }: Reading & { after: number },
): Promise<ChangesPage | null> {
  if (!sessionIdSchema.safeParse(sessionId).success) return null;
  return database.transaction(actor, async (tx) => {
    const rows = await tx.execute<EntryRow & { session_version: string; found: string }>(sql`
      with found as (${withBytes(
        sql`select ${columns} from log_entries where session_id = ${sessionId} and version > ${after}
          order by version limit ${limits.entries + 1}`,
        sql.raw("version"),
      )})
      select s.version as session_version, (select count(*) from found) as found, f.*
      from sessions s left join found f on ${fits("f", limits)} and f.position <= ${limits.entries}
      where s.id = ${sessionId} order by f.version`);
    const [first] = rows;
    if (!first) return null;
    const page: EntryRow[] = first.number === null ? [] : [...rows];
    const more = Number(first.found) > page.length;
    const version = Number(more ? page.at(-1)?.version : first.session_version);
    if (more) page.push(...(await restOfTexts(tx, { sessionId, page, version })));
    return { entries: page.map(toEntry).sort(byNumber), version, more };
  });
}

/** What belongs to texts of the page and would come with a later one only. */
async function restOfTexts(
  tx: Transaction,
  { sessionId, page, version }: { sessionId: string; page: readonly EntryRow[]; version: number },
): Promise<EntryRow[]> {
  const texts = page.filter(({ kind, key }) => key !== null && isText(kind));
  if (texts.length === 0) return [];
  const turnIds = [...new Set(texts.map((row) => row.turn_id))];
  const keys = [...new Set(texts.map(({ key }) => key))];
  return tx.execute<EntryRow>(sql`
    select ${columns} from log_entries where session_id = ${sessionId} and version > ${version}
      and turn_id::text in ${list(turnIds)} and key in ${list(keys)} and kind in ('agent_message', 'agent_thought')`);
}

/**
 * The newest entries before a number, of those at the root or of those directly under one tool call. `before` is the
 * `earlier` of another page, or null for the newest page. Null when the session is not this person's.
 */
export async function readPage(
  database: Database,
  input: Reading & { under: number | null; before: number | null; limit: number },
): Promise<LogPage | null> {
  const { actor, sessionId, under, limits } = input;
  if (!sessionIdSchema.safeParse(sessionId).success) return null;
  return database.transaction(actor, async (tx) => {
    const [session] = await tx.execute<{ version: string }>(sql`select version from sessions where id = ${sessionId}`);
    if (!session) return null;
    const level = sql`session_id = ${sessionId} and ${under === null ? sql`under is null` : sql`under = ${under}`}`;
    const before = input.before ?? Number.MAX_SAFE_INTEGER;
    const entries = (
      await newest(tx, sql`${level} and number < ${before}`, {
        ...limits,
        entries: Math.min(input.limit, limits.entries),
      })
    ).map(toEntry);
    for (;;) {
      const start = entries.at(-1)?.number ?? 0;
      const needed = Math.min(start, ...entries.map(continuedBy));
      if (needed === start) break;
      const rest = await newest(tx, sql`${level} and number < ${start} and number >= ${needed}`, limits);
      if (rest.length === 0) break;
      entries.push(...rest.map(toEntry));
    }
    const start = entries.at(-1)?.number ?? 0;
    const [older] = await tx.execute(sql`select from log_entries where ${level} and number < ${start} limit 1`);
    const children = await countChildren(tx, sessionId, entries);
    return {
      entries: entries.reverse().map((entry) => {
        const count = children.get(entry.number);
        return count ? { ...entry, children: count } : entry;
      }),
      version: Number(session.version),
      earlier: older ? start : null,
    };
  });
}

/** Descending by number. */
async function newest(tx: Transaction, where: SQL, limits: PageLimits): Promise<EntryRow[]> {
  const found = sql`select ${columns} from log_entries where ${where} order by number desc limit ${limits.entries}`;
  return tx.execute<EntryRow>(sql`
    select * from (${withBytes(found, sql.raw("number desc"))}) f where ${fits("f", limits)} order by number desc`);
}

/** With the bytes of each row and those before it. */
const withBytes = (found: SQL, order: SQL) => sql`
  select *, row_number() over (order by ${order}) as position,
    sum(octet_length(body::text)) over (order by ${order}) as bytes from (${found}) entries`;
const fits = (name: string, { bytes }: PageLimits) =>
  sql`(${sql.raw(name)}.bytes <= ${bytes} or ${sql.raw(name)}.position = 1)`;

async function countChildren(tx: Transaction, sessionId: string, entries: readonly LogEntry[]) {
  const calls = entries.filter(({ kind }) => kind === "tool_call").map(({ number }) => number);
  if (calls.length === 0) return new Map<number, number>();
  const rows = await tx.execute<{ under: string; children: string }>(sql`
    select under, count(*) as children from log_entries
    where session_id = ${sessionId} and under in (select value::bigint from jsonb_array_elements_text(${JSON.stringify(calls)}::jsonb))
    group by under`);
  return new Map(rows.map(({ under, children }) => [Number(under), Number(children)]));
}

const isText = (kind: string) => kind === "agent_message" || kind === "agent_thought";
const byNumber = (one: LogEntry, other: LogEntry) => one.number - other.number;

function continuedBy(entry: LogEntry): number {
  return (isText(entry.kind) && (entry.body as TextBody).continues) || entry.number;
}
