import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { AppError, faultError, isAppError } from "../errors.ts";
import { bounded } from "../lib/bounded.ts";
import type { SidecarClient, SidecarRequest } from "../sandboxes/sidecar-client.ts";
import { createAgentError } from "./agent-error.ts";
import { idBefore, isAgentSessionId, partIdOf } from "./agent-ids.ts";
import type { AgentClient, AgentMessage } from "./index.ts";
import { type Replay, type ReplayEvent, replayEvents } from "./replay/plan-replay.ts";
import { toAskRequest } from "./to-ask-request.ts";

/** Connecting is the sidecar client's own affair; `connect` bounds how long the event bus waits for a first word. */
export const agentTimeouts = { connect: 5_000, request: 30_000 };
export type AgentTimeouts = typeof agentTimeouts;

export interface AgentClientOptions {
  sidecar: SidecarClient;
  timeouts?: Partial<AgentTimeouts>;
  /** Told what deleteSession could not do. */
  onDeleteFailed?: (error: unknown) => void;
}

interface Call {
  method: SidecarRequest["method"];
  path: string;
  json?: unknown;
  /** As in "The agent could not …". */
  what: string;
  signal: AbortSignal;
  /** Where the usual time for a request would be too short. */
  timeoutMilliseconds?: number;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** A turn has one message for each of its steps: most are in the first page. */
const newestMessages = 30;
const olderMessages = 300;
const maxPages = 1_000;
const maxAnswerBytes = 128 * 1024 * 1024;
const promptMilliseconds = 10_000;
const promptPauses = [250, 500, 1_000, 2_000, 4_000];
/** A summary is as long as the model needs; whoever asks for it gives a limit of their own. */
const summaryMilliseconds = 60 * 60_000;
const maxEventsAtOnce = 200;
const maxCharactersAtOnce = 1024 * 1024;
const importMilliseconds = 60_000;

/** opencode behind the sidecar's `/agent` proxy. */
export function createAgentClient({ sidecar, timeouts, onDeleteFailed }: AgentClientOptions): AgentClient {
  const { request: usualMilliseconds } = { ...agentTimeouts, ...timeouts };

  async function send(call: Call): Promise<Answer> {
    call.signal.throwIfAborted();
    const { timeoutMilliseconds = usualMilliseconds } = call;
    const timeout = AbortSignal.timeout(timeoutMilliseconds);
    const signal = AbortSignal.any([call.signal, timeout]);
    try {
      const { status, headers, body } = await sidecar.send({
        method: call.method,
        path: `/agent${call.path}`,
        ...(call.json === undefined ? {} : { body: JSON.stringify(call.json), contentType: "application/json" }),
        timeoutMilliseconds,
        signal,
      });
      return { status, headers, text: await readText(body, signal) };
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      if (timeout.aborted) throw faultError("agent-late", { cause: error });
      if (isAppError(error)) throw error;
      throw faultError("agent-away", { cause: error });
    }
  }

  async function expectAnswer(call: Call): Promise<Answer> {
    const { status, headers, text } = await send(call);
    if (status >= 300) throw createAgentError({ what: call.what, status, headers, body: text });
    return { status, headers, text };
  }

  const expectOk = async (call: Call): Promise<string> => (await expectAnswer(call)).text;

  async function expectJson<Schema extends z.ZodType>(call: Call, schema: Schema): Promise<z.infer<Schema>> {
    return parseAs(await expectOk(call), schema, call.what);
  }

  /** The newest ones, or those before a cursor, and the cursor of what is before them. */
  async function listPage(path: string, signal: AbortSignal) {
    const what = "list its messages";
    const { text, headers } = await expectAnswer({ method: "GET", path, what, signal });
    const cursor = headers["x-next-cursor"];
    const page = parseAs(text, messages, what) as AgentMessage[];
    return { page, next: typeof cursor === "string" ? cursor : null };
  }

  /** Null where opencode does not know the session. */
  async function findSession(id: string, signal: AbortSignal): Promise<z.infer<typeof session> | null> {
    if (!isAgentSessionId(id)) return null;
    try {
      return await expectJson({ method: "GET", path: `/session/${id}`, what: "find the session", signal }, session);
    } catch (error) {
      if (isAppError(error) && error.code === "404") return null;
      throw error;
    }
  }

  /** For what may arrive twice: after a lost answer nobody knows whether it arrived once. */
  async function expectSurely(call: Call, { isPatient } = { isPatient: true }): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await expectOk(call);
        return;
      } catch (error) {
        const isLate = isAppError(error) && error.kind === "timeout";
        const isUncertain = isAppError(error) && (error.kind === "unavailable" || (isLate && isPatient));
        const pause = promptPauses[attempt];
        if (!isUncertain || pause === undefined || call.signal.aborted) throw error;
        await sleep(pause, undefined, { signal: call.signal });
      }
    }
  }

  async function requireReplayed({ info, messages }: Replay, signal: AbortSignal): Promise<void> {
    const found = new Set((await client.listMessages(info.id, signal)).flatMap(idsOf));
    if (messages.flatMap(idsOf).every((id) => found.has(id))) return;
    throw faultError("agent-answer", { cause: new Error("Not the whole conversation was loaded") });
  }

  const client: AgentClient = {
    async keepSession({ agentSessionId, directory, signal }) {
      const found = await findSession(agentSessionId, signal);
      if (!found) return false;
      if (found.directory === directory) return true;
      const json = { sessionID: found.id, destination: { directory } };
      const path = "/experimental/control-plane/move-session";
      await expectOk({ method: "POST", path, json, what: "move the session to its directory", signal });
      return true;
    },

    async findModel(directory, signal) {
      const path = `/config${inDirectory(directory)}`;
      const { model } = await expectJson({ method: "GET", path, what: "report its configuration", signal }, config);
      const [, providerID, modelID] = /^([^/]+)\/(.+)$/.exec(model ?? "") ?? [];
      return providerID && modelID ? { providerID, modelID } : null;
    },

    async prepareDirectory(directory, signal) {
      const path = `/config/providers${inDirectory(directory)}`;
      await expectOk({ method: "GET", path, what: "open the directory", signal });
    },

    async createSession({ directory, title, signal }) {
      const path = `/session${inDirectory(directory)}`;
      const json = title === null ? {} : { title };
      return (await expectJson({ method: "POST", path, json, what: "start a session", signal }, session)).id;
    },

    async findReplayTarget(directory, signal) {
      const at = inDirectory(directory);
      const what = "report its project and model";
      const { id: projectId } = await expectJson(
        { method: "GET", path: `/project/current${at}`, what, signal },
        project,
      );
      const { model } = await expectJson({ method: "GET", path: `/config${at}`, what, signal }, modelConfig);
      const [, providerId = "", modelId = ""] = /^([^/]*)\/(.*)$/.exec(model) ?? [];
      return { directory, projectId, model: { providerId, modelId } };
    },

    async replaySession(replay, signal) {
      const { directory } = replay.info;
      const path = `/sync/replay${inDirectory(directory)}`;
      for (const events of inPieces(replayEvents(replay))) {
        const json = { directory, events };
        await expectSurely({ method: "POST", path, json, what: "load the conversation", signal });
      }
      await requireReplayed(replay, signal);
    },

    async importSession({ sessionId, replay, signal }) {
      const json = { sessionId, session: replay };
      const request = { method: "POST", path: "/agent-import", json, timeoutMilliseconds: importMilliseconds } as const;
      await bounded((limited) => sidecar.json({ ...request, signal: limited }), {
        signal,
        milliseconds: importMilliseconds,
        late: () => faultError("agent-late"),
      });
      await requireReplayed(replay, signal);
    },

    async prompt({ agentSessionId, model, messageId, text, preface, signal }) {
      const partId = partIdOf(messageId);
      const before = preface ? [{ id: idBefore(partId), type: "text", text: preface, synthetic: true }] : [];
      const parts = [...before, { id: partId, type: "text", text }];
      const json = { messageID: messageId, ...(model && { model }), parts };
      const path = `/session/${known(agentSessionId)}/prompt_async`;
      const timeoutMilliseconds = Math.min(promptMilliseconds, usualMilliseconds);
      const call = { method: "POST", path, json, what: "accept the prompt", timeoutMilliseconds, signal } as const;
      // Whoever prompts an agent that stands still says so meanwhile, and asks later whether it was heard.
      await expectSurely(call, { isPatient: false });
    },

    async abort(agentSessionId, signal) {
      const path = `/session/${known(agentSessionId)}/abort`;
      await expectOk({ method: "POST", path, what: "stop", signal });
    },

    async summarize({ agentSessionId, providerId, modelId, signal }) {
      const path = `/session/${known(agentSessionId)}/summarize`;
      const json = { providerID: providerId, modelID: modelId, auto: false };
      const what = "summarise the conversation";
      await expectOk({ method: "POST", path, json, what, signal, timeoutMilliseconds: summaryMilliseconds });
    },

    async revert({ agentSessionId, messageId, signal }) {
      const path = `/session/${known(agentSessionId)}/revert`;
      const json = { messageID: messageId };
      const { revert } = await expectJson({ method: "POST", path, json, what: "undo the turn", signal }, reverted);
      // It answers 200 for a message that it does not know, and changes nothing.
      if (!revert) throw new AppError("not-found", "The agent no longer has this message.");
    },

    async unrevert(agentSessionId, signal) {
      const path = `/session/${known(agentSessionId)}/unrevert`;
      await expectOk({ method: "POST", path, what: "redo the turn", signal });
    },

    async findReverted(agentSessionId, signal) {
      const path = `/session/${known(agentSessionId)}`;
      const { revert } = await expectJson({ method: "GET", path, what: "find the session", signal }, reverted);
      return revert?.messageID ?? null;
    },

    async removeMessage({ agentSessionId, messageId, signal }) {
      const path = `/session/${known(agentSessionId)}/message/${encodeURIComponent(messageId)}`;
      await expectOk({ method: "DELETE", path, what: "forget a message", signal });
    },

    async listMessages(agentSessionId, signal, isFirst) {
      const path = `/session/${known(agentSessionId)}/message`;
      const newestFirst: AgentMessage[][] = [];
      const query = new URLSearchParams({ limit: String(isFirst ? newestMessages : olderMessages) });
      while (newestFirst.length < maxPages) {
        const { page, next } = await listPage(`${path}?${query}`, signal);
        newestFirst.push(page);
        if (next === null || page.length === 0 || (isFirst && page.some(isFirst))) return newestFirst.reverse().flat();
        query.set("limit", String(olderMessages));
        query.set("before", next);
      }
      throw faultError("agent-answer", { cause: new Error("The list of messages does not end") });
    },

    async listBusy(directory, signal) {
      const path = `/session/status${inDirectory(directory)}`;
      const statuses = await expectJson({ method: "GET", path, what: "report its status", signal }, sessionStatuses);
      return Object.keys(statuses).filter((id) => statuses[id]?.type !== "idle");
    },

    listPermissions: (directory, signal) =>
      expectJson(
        { method: "GET", path: `/permission${inDirectory(directory)}`, what: "list its permissions", signal },
        requests,
      ),

    async replyPermission({ requestId, reply, directory, signal }) {
      const path = `/permission/${encodeURIComponent(requestId)}/reply${inDirectory(directory)}`;
      await expectOk({ method: "POST", path, json: { reply }, what: "accept the permission", signal });
    },

    listQuestions: (directory, signal) =>
      expectJson(
        { method: "GET", path: `/question${inDirectory(directory)}`, what: "list its questions", signal },
        requests,
      ),

    async replyQuestion({ requestId, answers, directory, signal }) {
      const path = `/question/${encodeURIComponent(requestId)}/reply${inDirectory(directory)}`;
      await expectOk({ method: "POST", path, json: { answers }, what: "accept the answer", signal });
    },

    async deleteSession(agentSessionId, signal) {
      if (!isAgentSessionId(agentSessionId)) return;
      try {
        const path = `/session/${agentSessionId}`;
        const { status, headers, text } = await send({ method: "DELETE", path, what: "delete the session", signal });
        if (status >= 300 && status !== 404) {
          onDeleteFailed?.(createAgentError({ what: "delete the session", status, headers, body: text }));
        }
      } catch (error) {
        onDeleteFailed?.(error);
      }
    },
  };
  return client;
}

const session = z.object({ id: z.string().refine(isAgentSessionId), directory: z.string() });
const config = z.object({ model: z.string().optional() });
const reverted = z.object({ revert: z.object({ messageID: z.string() }).optional() });
const project = z.object({ id: z.string() });
const modelConfig = z.object({ model: z.string() });
const sessionStatuses = z.record(z.string(), z.object({ type: z.string() }));
const requests = z.array(
  z
    .looseObject({ id: z.string(), sessionID: z.string() })
    .transform(({ id, sessionID, ...asked }) => ({ id, agentSessionId: sessionID, request: toAskRequest(asked) })),
);
const messages = z.array(
  z.object({
    info: z.looseObject({
      id: z.string(),
      role: z.enum(["user", "assistant"]),
      sessionID: z.string(),
      parentID: z.string().optional(),
    }),
    parts: z.array(z.looseObject({ id: z.string(), messageID: z.string(), sessionID: z.string(), type: z.string() })),
  }),
);

const idsOf = ({ info, parts }: AgentMessage) => [info.id, ...parts.map(({ id }) => id)];

/** Each event is a transaction of its own in opencode: a long history in one request would be late. */
function inPieces(events: readonly ReplayEvent[]): ReplayEvent[][] {
  const pieces: ReplayEvent[][] = [];
  let size = 0;
  for (const event of events) {
    const last = pieces.at(-1);
    const length = JSON.stringify(event).length;
    size += length;
    if (last && last.length < maxEventsAtOnce && size <= maxCharactersAtOnce) last.push(event);
    else {
      pieces.push([event]);
      size = length;
    }
  }
  return pieces;
}

/** Status, permissions and questions are kept apart for each directory; a call without one sees nothing. */
function inDirectory(directory: string): string {
  return `?directory=${encodeURIComponent(directory)}`;
}

function known(agentSessionId: string): string {
  if (isAgentSessionId(agentSessionId)) return agentSessionId;
  throw new AppError("internal", "That is not an id of an agent's session.");
}

async function readText(body: AsyncIterable<Uint8Array | string>, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    signal.throwIfAborted();
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > maxAnswerBytes)
      throw faultError("agent-answer", { cause: new Error(`More than ${maxAnswerBytes} bytes`) });
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseAs<Schema extends z.ZodType>(text: string, schema: Schema, _what: string): z.infer<Schema> {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw faultError("agent-answer", { cause: parsed.error });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
