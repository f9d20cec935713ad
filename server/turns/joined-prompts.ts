import { type AgentMessage, hasId, isAgentAnswer } from "../agent/index.ts";
import { isRefused } from "../errors.ts";
import { createSerial } from "../lib/serial.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { claimJoin, type JoinedTurn, listJoined, listToJoin, releaseJoin } from "./join-rows.ts";

/**
 * "Send now": prompts that join the running turn. opencode takes them up at its next step and is idle
 * once for all, so the turn is over only when each of them was answered. Open until the turn's end is
 * decided; whatever is sent after that waits in the queue.
 */
export interface JoinedPrompts {
  /** The agent works on what this turn asked: before that, what joins could overtake it there. */
  open(): void;
  /** Takes in what is to be sent now. */
  look(): void;
  /** After a takeover: what had joined. Gives those that the agent has not received, which are sent then. */
  resume(messages: readonly AgentMessage[]): Promise<JoinedTurn[]>;
  hasAny(): Promise<boolean>;
  /**
   * Lists the agent's messages at a moment in which nobody is joining, and closes when every prompt in it
   * was answered, or with `isSilent`: then nothing more is due of those that it has. With `isCut` it closes as it is.
   * Null: the agent still has something to answer.
   */
  closeWith(
    list: () => Promise<AgentMessage[]>,
    at: { isSilent: boolean; isCut: () => boolean },
  ): Promise<AgentMessage[] | null>;
  /** The agent's list was not complete yet. */
  reopen(): void;
  close(): void;
}

export function createJoinedPrompts(driven: Omit<DrivenTurn, "joinedPrompts">): JoinedPrompts {
  const { context, job, writer, connection, agentSessionId, fence, signal } = driven;
  const { actor, turn } = job;
  const { database } = context;
  const joined: string[] = [];
  /** Sent, and no answer came: the agent may have them or not. Sent again they have the same ids, so it hears them once. */
  const unsure = new Map<string, JoinedTurn>();
  const serial = createSerial();
  let busy = 0;
  let opened = false;
  let closed = false;

  async function send({ prompt, agentMessageId }: JoinedTurn): Promise<void> {
    await connection.client.prompt({
      agentSessionId,
      messageId: agentMessageId,
      text: prompt,
      signal,
    });
  }

  async function join(turnId: string): Promise<void> {
    const agentMessageId = context.ids.messageId();
    const claimed = await claimJoin(fence, { turnId, host: turn, agentMessageId });
    if (!claimed) return;
    joined.push(agentMessageId);
    // In the log before the agent has it: its answer must not stand above it.
    await writer.joinTurn(claimed);
    await context.log.notifyViewers(turn.sessionId);
    await sendOrGiveBack(claimed);
  }

  async function sendOrGiveBack(one: JoinedTurn): Promise<void> {
    const { turnId, agentMessageId } = one;
    unsure.delete(agentMessageId);
    try {
      await send(one);
    } catch (error) {
      // It ends with its host.
      if (signal.aborted || isRefused(error)) return;
      context.logger.warn({ err: error, turnId }, "A message could not join the running turn");
      if (!isAgentAnswer(error)) return void unsure.set(agentMessageId, one);
      joined.splice(joined.indexOf(agentMessageId), 1);
      await releaseJoin(fence, turnId);
      await writer.add("error", { message: "The agent did not accept this message. It is back in the queue." });
      await context.log.notifyViewers(turn.sessionId);
    }
  }

  /** Whether the agent has something to do with it now. */
  async function sendUnheard(messages: readonly AgentMessage[]): Promise<boolean> {
    const unheard = [...unsure.values()].filter((one) => !messages.some(hasId(one.agentMessageId)));
    unsure.clear();
    for (const one of unheard) await sendOrGiveBack(one);
    return unheard.some(({ agentMessageId }) => joined.includes(agentMessageId));
  }

  return {
    open() {
      if (opened) return;
      opened = true;
      this.look();
    },
    look() {
      if (!opened || closed || job.stop.aborted || turn.kind !== "prompt") return;
      busy += 1;
      const looking = serial.run(async () => {
        for (const turnId of await listToJoin(database, actor, turn.sessionId)) {
          if (closed || job.stop.aborted) return;
          await join(turnId);
        }
      });
      looking
        .catch((error: unknown) => {
          if (job.closing.aborted || isRefused(error)) return;
          context.logger.error({ err: error, turnId: turn.id }, "Messages could not join");
        })
        .finally(() => {
          busy -= 1;
        });
    },
    hasAny: async () => (await listJoined(database, actor, turn)).length > 0,
    async resume(messages) {
      const known = new Set(messages.map(({ info }) => info.id));
      const missing: JoinedTurn[] = [];
      for (const { logged, ...one } of await listJoined(database, actor, turn)) {
        joined.push(one.agentMessageId);
        if (!logged) await writer.joinTurn(one);
        if (known.has(one.agentMessageId)) continue;
        await send(one);
        missing.push(one);
      }
      return missing;
    },
    async closeWith(list, { isSilent, isCut }) {
      for (;;) {
        await serial.run(async () => {});
        const before = joined.length;
        const messages = await list();
        // Somebody joined while the list was on its way: it may not know of them.
        if (busy > 0 || joined.length !== before) continue;
        if (!isCut()) {
          if (await sendUnheard(messages)) return null;
          if (!isSilent && !joined.every((id) => isAnswered(messages, id))) return null;
        }
        closed = true;
        return messages;
      }
    },
    reopen() {
      closed = false;
      this.look();
    },
    close() {
      closed = true;
    },
  };
}

/** opencode's answer need not name the prompt: the last of several is answered for all. */
function isAnswered(messages: readonly AgentMessage[], id: string): boolean {
  const index = messages.findIndex(hasId(id));
  return index >= 0 && messages.slice(index).some(({ info }) => info.role === "assistant");
}
