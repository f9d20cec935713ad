import type { LogEntry } from "@/server/protocol/log-entry.ts";
import { countChanges, diffLines } from "../session/transcript/line-diff.ts";
import { shortPath } from "../session/transcript/tool-view.ts";

export interface FileChanges {
  path: string;
  added: number;
  removed: number;
  diffs: { number: number; oldText: string; newText: string; whole: boolean }[];
}

/** What the agent's own edits changed, by file, the latest file first. */
export function toChanges(entries: readonly LogEntry[]): FileChanges[] {
  const files = new Map<string, FileChanges>();
  for (const entry of entries) {
    if (entry.kind !== "tool_call" || entry.body.status !== "completed" || entry.body.discarded) continue;
    for (const part of entry.body.content) {
      if (part.type !== "diff") continue;
      const path = shortPath(part.path);
      const [oldText, newText] = [part.oldText ?? "", part.newText];
      const { added, removed } = countChanges(diffLines(oldText, newText));
      const file = files.get(path) ?? { path, added: 0, removed: 0, diffs: [] };
      files.delete(path);
      const diffs = [...file.diffs, { number: entry.number, oldText, newText, whole: part.oldText === null }];
      files.set(path, { path, added: file.added + added, removed: file.removed + removed, diffs });
    }
  }
  return [...files.values()].reverse();
}
