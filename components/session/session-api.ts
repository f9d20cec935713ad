import { z } from "zod";
import { queuedTurn } from "@/server/protocol/session-events.ts";
import { fileList } from "@/server/protocol/sidecar.ts";
import { snapshotFiles, snapshotList, snapshotRestored, snapshotTaken } from "@/server/protocol/snapshots.ts";
import type { Outcome } from "../ui/outcome.ts";

/** The page's calls to the REST routes. None throws: what went wrong comes back in words. */
const deadline = 30_000;
/** A large workspace takes its time; the server goes on also when nobody waits any more. */
const archiveDeadline = 10 * 60_000;
/** A file of a snapshot is looked for from the beginning of its archive; a folder may hold very many files. */
const readDeadline = 2 * 60_000;

const turnAnswer = z.object({ turn: z.object({ id: z.string() }) });
const wholeTurn = z.object({ turn: z.object({ prompt: z.string() }) });
const queueAnswer = z.object({ queue: z.array(queuedTurn) });
const tryAnswer = z.object({ trying: z.boolean() });
const problem = z.object({ error: z.object({ message: z.string(), reference: z.string().optional() }) });

export function startTurn(sessionId: string, { prompt, idempotencyKey }: { prompt: string; idempotencyKey: string }) {
  const body = { prompt: storable(prompt), idempotencyKey };
  return call({ method: "POST", path: `${at(sessionId)}/turns`, body, answer: turnAnswer });
}

/** With all its words; what waits is shown with the first of them. */
export function readTurn(sessionId: string, turnId: string) {
  const path = `${at(sessionId)}/turns/${encodeURIComponent(turnId)}`;
  return call({ method: "GET", path, answer: wholeTurn });
}

/** All that waits. */
export function listQueue(sessionId: string, signal: AbortSignal) {
  return call({ method: "GET", path: `${at(sessionId)}/queue`, answer: queueAnswer, signal });
}

export function stopTurn(sessionId: string) {
  return call({ method: "POST", path: `${at(sessionId)}/stop`, body: {} });
}

/** What could not be handed to the agent yet. */
export function tryTurnNow(sessionId: string) {
  return call({ method: "POST", path: `${at(sessionId)}/try-now`, body: {}, answer: tryAnswer });
}

export function removeQueuedTurn(sessionId: string, turnId: string) {
  return call({ method: "DELETE", path: `${at(sessionId)}/turns/${encodeURIComponent(turnId)}` });
}

export function editQueuedTurn(sessionId: string, turnId: string, prompt: string) {
  return call({
    method: "PATCH",
    path: `${at(sessionId)}/turns/${encodeURIComponent(turnId)}`,
    body: { prompt: storable(prompt) },
  });
}

/** Before another one that waits, or to the end. */
export function moveQueuedTurn(sessionId: string, turnId: string, before: string | null) {
  return call({ method: "PATCH", path: `${at(sessionId)}/turns/${encodeURIComponent(turnId)}`, body: { before } });
}

export function sendTurnNow(sessionId: string, turnId: string) {
  return call({ method: "POST", path: `${at(sessionId)}/turns/${encodeURIComponent(turnId)}/send-now`, body: {} });
}

/** A summary of the conversation, the last turn taken back, or brought back. */
export function startOther(sessionId: string, kind: "compact" | "undo" | "redo") {
  return call({ method: "POST", path: `${at(sessionId)}/${kind}`, body: {} });
}

/** To a question one list of labels, or own words, for each of its questions; to a permission the reply. */
export type AskAnswer = { answers: string[][] } | { reply: "once" | "always" | "reject" };

export function answerAsk(askId: string, answer: AskAnswer) {
  return call({ method: "POST", path: `/api/v1/asks/${encodeURIComponent(askId)}/answer`, body: answer });
}

export function renameSession(sessionId: string, title: string) {
  return call({ method: "PATCH", path: at(sessionId), body: { title } });
}

export function deleteSession(sessionId: string) {
  return call({ method: "DELETE", path: at(sessionId) });
}

/** `path` is relative to the session's directory; empty for the directory itself. */
export function listFiles(sessionId: string, path: string, signal?: AbortSignal) {
  return call({
    method: "GET",
    path: `${at(sessionId)}/files?path=${encodeURIComponent(path)}`,
    answer: fileList,
    signal,
  });
}

/** To another name, another folder, or both; refused where something is already. */
export function moveFile(sessionId: string, from: string, to: string) {
  return call({ method: "POST", path: `${at(sessionId)}/files/move`, body: { from, to } });
}

/** A folder with all that is in it. */
export function deleteFile(sessionId: string, path: string) {
  const address = `${at(sessionId)}/files?path=${encodeURIComponent(path)}`;
  return call({ method: "DELETE", path: address, limit: readDeadline });
}

export function listSnapshots(sessionId: string, signal?: AbortSignal) {
  return call({ method: "GET", path: `${at(sessionId)}/snapshots`, answer: snapshotList, signal });
}

export function takeSnapshot(sessionId: string) {
  return call({ method: "POST", path: `${at(sessionId)}/snapshots`, answer: snapshotTaken, limit: archiveDeadline });
}

export function restoreSnapshot(sessionId: string, snapshotId: string) {
  const path = `${atSnapshot(sessionId, snapshotId)}/restore`;
  return call({ method: "POST", path, answer: snapshotRestored, limit: archiveDeadline });
}

/** A restore that waits for the next wake is not made. */
export function withdrawRestore(sessionId: string, snapshotId: string) {
  return call({ method: "DELETE", path: `${atSnapshot(sessionId, snapshotId)}/restore` });
}

export function listSnapshotFiles(sessionId: string, snapshotId: string, signal: AbortSignal) {
  const path = `${atSnapshot(sessionId, snapshotId)}/files`;
  return call({ method: "GET", path, answer: snapshotFiles, signal, limit: readDeadline });
}

export function snapshotAddress(sessionId: string, snapshotId: string): string {
  return `${atSnapshot(sessionId, snapshotId)}/content`;
}

/** Where a file's bytes are; with `&download=1` they come as a download. */
export function fileAddress(sessionId: string, path: string): string {
  return `${at(sessionId)}/files/content?path=${encodeURIComponent(path)}`;
}

/** The same of a file in a snapshot. */
export function snapshotFileAddress(sessionId: string, snapshotId: string, path: string): string {
  return `${atSnapshot(sessionId, snapshotId)}/files/content?path=${encodeURIComponent(path)}`;
}

export async function readBytes(address: string, signal: AbortSignal) {
  return outcomeOf(async () => {
    const response = await fetch(address, { signal: within(signal, readDeadline), cache: "no-store" });
    if (!response.ok) return refusal(response);
    return { ok: true, bytes: new Uint8Array(await response.arrayBuffer()) };
  });
}

/** What was pasted may hold halves of characters, which nobody sees and the server refuses. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

function at(sessionId: string): string {
  return `/api/v1/sessions/${encodeURIComponent(sessionId)}`;
}

function atSnapshot(sessionId: string, snapshotId: string): string {
  return `${at(sessionId)}/snapshots/${encodeURIComponent(snapshotId)}`;
}

interface Call<Answer> {
  method: string;
  path: string;
  body?: unknown;
  answer?: z.ZodType<Answer>;
  signal?: AbortSignal | undefined;
  /** In milliseconds. */
  limit?: number;
}

function call<Answer extends object = object>({ method, path, body, answer, signal, limit }: Call<Answer>) {
  return outcomeOf<Answer>(async () => {
    const response = await fetch(path, {
      method,
      cache: "no-store",
      signal: within(signal, limit),
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    if (!response.ok) return refusal(response);
    return { ok: true, ...(answer ? answer.parse(await response.json()) : ({} as Answer)) };
  });
}

function within(signal: AbortSignal | undefined, milliseconds = deadline): AbortSignal {
  const limit = AbortSignal.timeout(milliseconds);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

async function refusal(response: Response) {
  const read = problem.safeParse(await response.json().catch(() => null));
  const leadsTo = response.status === 401 ? `/sign-in?next=${encodeURIComponent(window.location.pathname)}` : undefined;
  const { message, reference } = read.data?.error ?? {
    message: `The server answered ${response.status}. Try again in a moment.`,
  };
  return { ok: false as const, status: response.status, message, reference, leadsTo };
}

async function outcomeOf<Value>(work: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> {
  try {
    return await work();
  } catch {
    return { ok: false, message: "The server did not answer. Check your connection and try again." };
  }
}
