import type { AskRequest } from "../protocol/ask-request.ts";
import type { EntryBody, EntryKind } from "../protocol/log-entry.ts";
import type { Replay, ReplayTarget } from "./replay/plan-replay.ts";

/** opencode's message list, as far as we read it. */
export interface AgentMessage {
  info: { id: string; role: "user" | "assistant"; sessionID: string; parentID?: string } & Record<string, unknown>;
  parts: ({ id: string; messageID: string; sessionID: string; type: string } & Record<string, unknown>)[];
}

/** A permission or question that waits. */
export interface AgentRequest {
  id: string;
  agentSessionId: string;
  request: AskRequest;
}

export interface AgentModel {
  providerID: string;
  modelID: string;
}

/** Errors are AppErrors; messages hold at most 200 characters of the body, the status and opencode's request id. */
export interface AgentClient {
  /** True on 200, moved when its stored directory differs; false on 404; anything else throws (ARCHITECTURE.md, invariant 10). */
  keepSession(input: { agentSessionId: string; directory: string; signal: AbortSignal }): Promise<boolean>;
  /** Everything that opencode sets up for a directory with its first prompt. A stop in the midst of that would spoil it. */
  prepareDirectory(directory: string, signal: AbortSignal): Promise<void>;
  createSession(input: { directory: string; title: string | null; signal: AbortSignal }): Promise<string>;
  /** What a replay into that directory has to know of opencode. */
  findReplayTarget(directory: string, signal: AbortSignal): Promise<ReplayTarget>;
  /** Over HTTP. Repeating it is harmless, also after half of it; throws unless all of it is there afterwards. */
  replaySession(replay: Replay, signal: AbortSignal): Promise<void>;
  /** The same by `opencode import` beside the server, in the directory of that session of ours. */
  importSession(input: { sessionId: string; replay: Replay; signal: AbortSignal }): Promise<void>;
  /** The model of the configuration that the agent runs with now; null when it names none. */
  findModel(directory: string, signal: AbortSignal): Promise<AgentModel | null>;
  /** Idempotent by `messageId` (docs/opencode-facts.md, "Ids of our own"); `timeout` when nobody knows whether it was heard. Without `model`, opencode takes the session's last one. */
  prompt(input: {
    agentSessionId: string;
    model?: AgentModel | null;
    messageId: string;
    text: string;
    /** Told to the agent before the person's text, and not as theirs. */
    preface?: string | null;
    signal: AbortSignal;
  }): Promise<void>;
  abort(agentSessionId: string, signal: AbortSignal): Promise<void>;
  /**
   * Replaces the conversation so far by a summary of that model. Resolves when it is written, which takes as
   * long as the model does: `signal` is its only limit. What happens meanwhile comes as events.
   */
  summarize(input: { agentSessionId: string; providerId: string; modelId: string; signal: AbortSignal }): Promise<void>;
  /**
   * Takes that message and all after it back, files included; the next prompt makes it final. `conflict`
   * while the session is busy, `not-found` when it does not know the message.
   */
  revert(input: { agentSessionId: string; messageId: string; signal: AbortSignal }): Promise<void>;
  /** Brings back what was taken back. `conflict` while the session is busy. */
  unrevert(agentSessionId: string, signal: AbortSignal): Promise<void>;
  /** The message from which on everything is taken back at the moment; null when nothing is. */
  findReverted(agentSessionId: string, signal: AbortSignal): Promise<string | null>;
  /** For good, without touching files. `conflict` while the session is busy. */
  removeMessage(input: { agentSessionId: string; messageId: string; signal: AbortSignal }): Promise<void>;
  /**
   * In their order, page by page from the newest on. With `isFirst`, those before the first such message need
   * not be among them, however long the session is.
   */
  listMessages(
    agentSessionId: string,
    signal: AbortSignal,
    isFirst?: (message: AgentMessage) => boolean,
  ): Promise<AgentMessage[]>;
  /** Sessions of that directory, subagents included, that are not idle. opencode keeps this apart for each directory. */
  listBusy(directory: string, signal: AbortSignal): Promise<string[]>;
  listPermissions(directory: string, signal: AbortSignal): Promise<AgentRequest[]>;
  /** `not-found` when it is no longer asked; so with questions. */
  replyPermission(input: {
    requestId: string;
    reply: "once" | "always" | "reject";
    directory: string;
    signal: AbortSignal;
  }): Promise<void>;
  listQuestions(directory: string, signal: AbortSignal): Promise<AgentRequest[]>;
  replyQuestion(input: {
    requestId: string;
    answers: string[][];
    directory: string;
    signal: AbortSignal;
  }): Promise<void>;
  /** Best-effort: a failure is reported, never thrown. */
  deleteSession(agentSessionId: string, signal: AbortSignal): Promise<void>;
}

/** What one event means for the log. `key` is opencode's part id (or our own for what has none); it names one entry. */
export type LogChange =
  | { type: "open"; key: string; kind: EntryKind; body: EntryBody; under: string | null }
  /** Text only. Offsets and the 8 KB continuation are the log's business. */
  | { type: "append"; key: string; text: string }
  | { type: "replace"; key: string; body: EntryBody }
  /** The entry is final; `verbatim` is opencode's part or message as it was. */
  | { type: "close"; key: string; verbatim: unknown }
  /** The entries are final with that. */
  | { type: "discard"; keys: string[]; attempt: number; reason: string }
  | { type: "title"; title: string };

/** What one event means for the turn. */
export type TurnSignal =
  | { type: "busy" }
  | { type: "idle" }
  | { type: "retry"; attempt: number; message: string; next: number | null }
  | { type: "error"; code: string; message: string; requestId?: string | undefined; terminal: boolean }
  | { type: "permission-asked"; requestId: string; request: AskRequest }
  | { type: "permission-replied"; requestId: string }
  | { type: "question-asked"; requestId: string; request: AskRequest }
  | { type: "question-replied"; requestId: string }
  | { type: "agent-exited"; cause: string };

export interface StepUsage {
  tokens: { input: number; output: number; reasoning: number; cacheRead: number; cacheWrite: number };
  providerId: string | null;
  modelId: string | null;
}

export { failureOfError, isAgentAnswer } from "./agent-error.ts";
export { type AgentIds, createAgentIds, hasId } from "./agent-ids.ts";
export { type AgentModels, agentConfigHash, buildAgentConfig } from "./build-agent-config.ts";
export { type AgentClientOptions, createAgentClient } from "./create-agent-client.ts";
export { createEventBus, type EventBus } from "./event-bus.ts";
export type { EventSubscription } from "./event-subscription.ts";
export { planReplay, type Replay, type ReplayTarget } from "./replay/plan-replay.ts";
export type { SavedEntry } from "./replay/saved-conversation.ts";
export { maxReplayBytes, selectConversation } from "./replay/select-conversation.ts";
export { tasksOf } from "./session-tree.ts";
export { recallMessages, type Settlement, settle } from "./settle.ts";
export { upgradeEntryBody } from "./stored-entry.ts";
export { toAskRequest } from "./to-ask-request.ts";
export { createTranslator, type Translator } from "./translate.ts";
export {
  initialState,
  type LoggedEntry,
  restoreState,
  type TranslatorState,
} from "./translator-state.ts";
