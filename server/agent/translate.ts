import type { NumberedEvent } from "../protocol/sidecar.ts";
import { failureOfAgent } from "./agent-failure.ts";
import { applyMessage, applyMessagePart, readPart } from "./apply-message.ts";
import { applyDelta, applyPlan, count, discardTry } from "./apply-part.ts";
import type { LogChange, TurnSignal } from "./index.ts";
import { toAskRequest } from "./to-ask-request.ts";
import { isFields } from "./tool-content.ts";
import type { AgentEvent, Output, TranslatorState } from "./translator-state.ts";

export interface Translator {
  /** Lives on with each event; `structuredClone` it to keep one moment. */
  readonly state: TranslatorState;
  apply(event: NumberedEvent): { changes: LogChange[]; signals: TurnSignal[] };
}

/**
 * Changes the state it was given: a burst brings thousands of deltas a second. Events of other sessions give no changes;
 * unknown ones are counted in the state, never fatal.
 */
export function createTranslator(state: TranslatorState): Translator {
  return {
    state,
    apply(event) {
      const out: Output = { changes: [], signals: [] };
      applyNumbered(state, event, out);
      return out;
    },
  };
}

const maxWaitingEvents = 1000;

/** Known, and of no meaning for the log. */
const silent = new Set([
  "server.connected",
  "server.heartbeat",
  "server.instance.disposed",
  "session.diff",
  "session.compacted",
  "project.updated",
  "plugin.added",
  "catalog.updated",
  "reference.updated",
  "integration.updated",
  "file.edited",
  "file.watcher.updated",
  "vcs.branch.updated",
  "lsp.updated",
  "lsp.client.diagnostics",
  "message.removed",
  "sync",
]);

function applyNumbered(state: TranslatorState, event: NumberedEvent, out: Output): void {
  if (event.type === "hello") return;
  const number = event.type === "gap" ? event.to : event.number;
  if (number <= state.lastNumber) return;
  state.lastNumber = number;
  if (event.type === "agent") applyAgent(state, event, out);
  else if (event.type === "gap" || event.what === "events-lost") loseDeltas(state);
  else if (event.what === "exited")
    out.signals.push({ type: "agent-exited", cause: event.cause ?? "The agent exited." });
}

/** Where events were lost, the deltas that follow have no known offset in parts that were open. */
function loseDeltas(state: TranslatorState): void {
  for (const part of state.parts.values()) part.uncertain = part.open;
}

function applyAgent(state: TranslatorState, event: AgentEvent, out: Output): void {
  const { type, properties } = event.payload;
  if (silent.has(type)) return;
  const info = isFields(properties.info) ? properties.info : {};
  const session = properties.sessionID ?? info.sessionID ?? info.id;
  const apply = Object.hasOwn(appliers, type) ? appliers[type] : undefined;
  if (typeof session !== "string" || !apply) count(state, type);
  else if (session !== state.root && !state.children.has(session)) wait(state, { event, session, info });
  else {
    const children = state.children.size;
    apply({ state, session, properties, info, eventId: event.payload.id, out });
    if (state.children.size > children) attachWaiting(state, out);
  }
}

/** A child is created before its tool call names it: until then its events wait. */
function wait(
  state: TranslatorState,
  { event, session, info }: { event: AgentEvent; session: string; info: Record<string, unknown> },
): void {
  const waiting = state.unattached.get(session);
  if (waiting) {
    if (waiting.length < maxWaitingEvents) waiting.push(event);
    return;
  }
  const parent = event.payload.type === "session.created" ? info.parentID : null;
  if (typeof parent !== "string") return;
  if (parent === state.root || state.children.has(parent) || state.unattached.has(parent)) {
    state.unattached.set(session, []);
  }
}

function attachWaiting(state: TranslatorState, out: Output): void {
  for (const [session, events] of state.unattached) {
    if (!state.children.has(session)) continue;
    state.unattached.delete(session);
    for (const event of events) applyAgent(state, event, out);
  }
}

interface Application {
  state: TranslatorState;
  session: string;
  properties: Record<string, unknown>;
  info: Record<string, unknown>;
  eventId: unknown;
  out: Output;
}

const appliers: Record<string, (application: Application) => void> = {
  "session.created": () => {},
  "session.updated": applyTitle,
  "session.status": applyStatus,
  "session.idle": ({ state, session, out }) => (session === state.root ? applyIdle(state, out) : undefined),
  "session.error": ({ state, session, properties, out }) => {
    if (session !== state.root) return;
    const { terminal, ...failure } = failureOfAgent(properties.error);
    if (terminal) state.error ??= failure;
    out.signals.push({ type: "error", ...failure, terminal });
  },
  "session.deleted": ({ state, session, out }) => {
    if (session !== state.root) return;
    const failure = { code: "agent-error", message: "The agent's session was deleted." };
    state.error ??= failure;
    out.signals.push({ type: "error", ...failure, terminal: true });
  },
  "message.updated": ({ state, info, out }) => applyMessage(state, { info }, out),
  "message.part.updated": ({ state, properties, out }) => {
    const part = readPart(properties.part);
    if (part) applyMessagePart(state, part, out);
    else count(state, "message.part.updated");
  },
  "message.part.delta": ({ state, properties, out }) => applyDelta(state, properties, out),
  "message.part.removed": () => {},
  "todo.updated": ({ state, session, properties, out }) =>
    session === state.root ? applyPlan(state, properties.todos, out) : undefined,
  "permission.asked": (application) => applyAsked(application, "permission-asked"),
  "permission.replied": (application) => applyReplied(application, "permission-replied"),
  "question.asked": (application) => applyAsked(application, "question-asked"),
  "question.replied": (application) => applyReplied(application, "question-replied"),
  "question.rejected": (application) => applyReplied(application, "question-replied"),
};

/** Until opencode has named it, a session has a title with its date. */
function applyTitle({ state, session, info, out }: Application): void {
  const { title } = info;
  if (session !== state.root || typeof title !== "string") return;
  if (title === "" || title === state.title || /^(New|Child) session - /.test(title)) return;
  state.title = title;
  out.changes.push({ type: "title", title });
}

function applyStatus({ state, session, properties, eventId, out }: Application): void {
  const status = isFields(properties.status) ? properties.status : {};
  const isRoot = session === state.root;
  if (status.type === "idle" && isRoot) applyIdle(state, out);
  // Before our prompt is known it is the busy of the turn before, read late.
  if (status.type === "busy" && isRoot && !state.begun && state.messages.has(state.userMessageId)) {
    state.begun = true;
    state.quiet = false;
    out.signals.push({ type: "busy" });
  }
  if (status.type !== "retry") return;
  const attempt = typeof status.attempt === "number" ? status.attempt : state.attempt + 1;
  const reason = typeof status.message === "string" ? status.message : "The model's answer was cut off.";
  if (isRoot) {
    state.begun = true;
    state.quiet = false;
    state.attempt = attempt;
    const next = typeof status.next === "number" ? status.next : null;
    out.signals.push({ type: "retry", attempt, message: reason, next });
  }
  discardTry(state, { session, reason, attempt, eventId }, out);
}

/**
 * Of the root only, and only after its busy. After an abort opencode is idle before the last parts
 * come, and says it again afterwards: both are reported, repeats without anything new are not.
 */
function applyIdle(state: TranslatorState, out: Output): void {
  if (!state.begun || state.quiet) return;
  state.quiet = true;
  out.signals.push({ type: "idle" });
}

function applyAsked({ state, properties, out }: Application, type: "permission-asked" | "question-asked"): void {
  const { id } = properties;
  if (typeof id !== "string" || state.asks.has(id)) return;
  state.asks.set(id, "asked");
  out.signals.push({ type, requestId: id, request: toAskRequest(properties) });
}

function applyReplied({ state, properties, out }: Application, type: "permission-replied" | "question-replied"): void {
  const { requestID } = properties;
  if (typeof requestID !== "string" || state.asks.get(requestID) === "replied") return;
  state.asks.set(requestID, "replied");
  out.signals.push({ type, requestId: requestID });
}
