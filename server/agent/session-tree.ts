import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { AgentMessage } from "./index.ts";
import { isFields } from "./tool-content.ts";

/** A root session and its subagents, learnt from the events themselves. */
export interface SessionTree {
  /** True for events of the tree, and for those that concern everybody. */
  includes(event: NumberedEvent): boolean;
}

export function createSessionTree(root: string, children: Iterable<string> = []): SessionTree {
  const sessions = new Set([root, ...children]);
  return {
    includes(event) {
      if (event.type !== "agent") return event.type !== "hello";
      const { sessionID, info: givenInfo, part } = event.payload.properties;
      const info = isFields(givenInfo) ? givenInfo : {};
      const session = sessionID ?? info.sessionID ?? info.id;
      if (typeof session !== "string") return false;
      if (sessions.has(session)) {
        const child = childOfTask(part);
        if (child) sessions.add(child);
        return true;
      }
      const isChild = info.id === session && typeof info.parentID === "string" && sessions.has(info.parentID);
      if (isChild) sessions.add(session);
      return isChild;
    },
  };
}

/** The sessions of the subagents that messages name. */
export function tasksOf(messages: readonly AgentMessage[]): string[] {
  return messages.flatMap(({ parts }) => parts.flatMap((part) => childOfTask(part) ?? []));
}

function childOfTask(part: unknown): string | null {
  if (!isFields(part) || part.tool !== "task" || !isFields(part.state)) return null;
  const { metadata } = part.state;
  return isFields(metadata) && typeof metadata.sessionId === "string" ? metadata.sessionId : null;
}
