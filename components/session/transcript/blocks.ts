import type { LogEntry, LogEntryOf } from "@/server/protocol/log-entry.ts";
import { toolOf } from "@/server/protocol/tools.ts";

/**
 * The transcript, derived from the log: what belongs together stands together. Entries are replaced,
 * never changed, so a block with the same `sources` as before need not be drawn again.
 */
export type Block = { key: string; sources: readonly LogEntry[] } & (
  | { kind: "prompt"; text: string; at: string }
  | { kind: "answer"; text: string; open: boolean }
  | { kind: "thought"; text: string; open: boolean; milliseconds: number | null }
  | { kind: "tools"; tools: ToolBlock[] }
  | { kind: "plan"; entry: LogEntryOf<"plan"> }
  | { kind: "ask"; entry: LogEntryOf<"ask"> }
  | { kind: "phases"; entries: LogEntryOf<"sandbox-phase">[]; done: boolean }
  /** For the agent, as long as it cannot be reached. */
  | { kind: "waiting"; entry: LogEntryOf<"sandbox-phase"> }
  | { kind: "discarded"; reason: string | null; blocks: Block[] }
  /** The model failed before it had said anything; the agent asks it again. */
  | { kind: "retry"; entry: LogEntryOf<"parts-discard"> }
  | { kind: "undone"; blocks: Block[] }
  | { kind: "revert"; entry: LogEntryOf<"turn-undo"> | LogEntryOf<"turn-redo"> }
  | { kind: "memory"; entry: LogEntryOf<"memory-note"> }
  | { kind: "error"; entry: LogEntryOf<"error"> }
  | { kind: "end"; end: LogEntryOf<"turn-end"> | null; usage: LogEntryOf<"usage"> | null }
);

export interface ToolBlock {
  entry: LogEntryOf<"tool_call">;
  /** What a subagent did. */
  nested: Block[];
}

export function toBlocks(entries: readonly LogEntry[]): Block[] {
  const children = Map.groupBy(entries, (entry) => entry.under);
  const blocks = blocksUnder(null, children);
  const undone = undoneTurns(entries);
  return undone.size === 0 ? blocks : foldUndone(blocks, undone);
}

/** What was taken back stays readable, folded into one row. */
function foldUndone(blocks: Block[], undone: ReadonlySet<string>): Block[] {
  const folded: Block[] = [];
  for (const block of blocks) {
    const turnId = block.sources[0]?.turnId;
    const last = folded.at(-1);
    if (!turnId || !undone.has(turnId)) folded.push(block);
    else if (last?.kind === "undone") {
      const sources = [...last.sources, ...block.sources];
      folded[folded.length - 1] = { ...last, blocks: [...last.blocks, block], sources };
    } else folded.push({ key: `undone-${block.key}`, sources: block.sources, kind: "undone", blocks: [block] });
  }
  return folded;
}

function undoneTurns(entries: readonly LogEntry[]): Set<string> {
  const undone = new Set<string>();
  for (const { kind, body } of entries) {
    if (kind === "turn-undo") for (const turnId of body.turnIds) undone.add(turnId);
    if (kind === "turn-redo") for (const turnId of body.turnIds) undone.delete(turnId);
  }
  return undone;
}

type Children = ReadonlyMap<number | null, readonly LogEntry[]>;

function blocksUnder(under: number | null, children: Children): Block[] {
  const entries = children.get(under) ?? [];
  const discards = discardsByNumber(entries);
  const newestPlans = newestPlanOfEachTurn(entries);
  const blocks: Block[] = [];
  entries.forEach((entry, index) => {
    if (entry.kind === "plan" && newestPlans.get(entry.turnId) !== entry) return;
    const block = toBlock(entry, entries[index + 1], children);
    if (!block) return;
    if ("discarded" in entry.body && entry.body.discarded) addDiscarded(blocks, block, discards.get(entry.number));
    else if (!joined(blocks, block)) blocks.push(block);
  });
  return blocks;
}

function toBlock(entry: LogEntry, next: LogEntry | undefined, children: Children): Block | null {
  const base = { key: `${entry.kind}-${entry.number}`, sources: [entry] as LogEntry[] };
  switch (entry.kind) {
    case "prompt":
      return { ...base, kind: "prompt", text: entry.body.text, at: entry.at };
    case "agent_message":
      return isBlank(entry) || !entry.body.text
        ? null
        : { ...base, kind: "answer", text: entry.body.text, open: entry.open };
    case "agent_thought":
      return isBlank(entry) ? null : { ...base, ...thought(entry, next) };
    case "tool_call":
      return tool(base, entry, children);
    case "plan":
      return { ...base, kind: "plan", entry };
    case "ask":
      return { ...base, kind: "ask", entry };
    case "sandbox-phase":
      if (entry.body.phase === "waiting") return { ...base, kind: "waiting", entry };
      return { ...base, ...phases(entry, next) };
    case "turn-undo":
    case "turn-redo":
      return { ...base, kind: "revert", entry };
    case "memory-note":
      return { ...base, kind: "memory", entry };
    case "error":
      return { ...base, kind: "error", entry };
    case "usage":
      return { ...base, kind: "end", end: null, usage: entry };
    case "turn-end":
      return { ...base, kind: "end", end: entry, usage: null };
    case "parts-discard":
      return entry.body.numbers.length > 0 ? null : { ...base, kind: "retry", entry };
  }
}

function thought(entry: LogEntryOf<"agent_thought">, next: LogEntry | undefined) {
  const milliseconds = entry.open || !next ? null : Math.max(0, Date.parse(next.at) - Date.parse(entry.at));
  const sources = next && !entry.open ? [entry, next] : [entry];
  return { kind: "thought" as const, text: entry.body.text, open: entry.open, milliseconds, sources };
}

/** Models often begin with an empty piece. What grows, or continues a text, is never blank. */
function isBlank({ open, body }: LogEntryOf<"agent_message"> | LogEntryOf<"agent_thought">): boolean {
  return !open && body.continues === undefined && body.text.trim() === "";
}

function tool(
  base: { key: string; sources: LogEntry[] },
  entry: LogEntryOf<"tool_call">,
  children: Children,
): Block | null {
  if (toolOf(entry.body.tool).shownElsewhere && entry.body.status !== "failed") return null;
  const nested = blocksUnder(entry.number, children);
  const sources = [entry, ...nested.flatMap((block) => block.sources)];
  return { ...base, kind: "tools", tools: [{ entry, nested }], sources };
}

/** Whether `block` became a part of the one before it. */
function joined(blocks: Block[], block: Block): boolean {
  const last = blocks.at(-1);
  const whole = last && join(last, block);
  if (!whole) return false;
  blocks[blocks.length - 1] = { ...whole, key: last.key, sources: [...last.sources, ...block.sources] };
  return true;
}

function join(last: Block, block: Block): Block | null {
  if (last.kind === "answer" && block.kind === "answer" && continues(block)) {
    return { ...block, text: last.text + block.text };
  }
  if (last.kind === "thought" && block.kind === "thought") {
    const milliseconds =
      last.milliseconds === null || block.milliseconds === null ? null : last.milliseconds + block.milliseconds;
    return { ...block, milliseconds, text: last.text + (continues(block) ? "" : "\n\n") + block.text };
  }
  if (last.kind === "tools" && block.kind === "tools" && sameRun(last.tools, block.tools)) {
    return { ...last, tools: [...last.tools, ...block.tools] };
  }
  if (last.kind === "phases" && block.kind === "phases" && !last.done) {
    return { ...block, entries: [...last.entries, ...block.entries] };
  }
  // It says what became of them.
  if (last.kind === "phases" && block.kind === "waiting" && !last.done) return block;
  if (last.kind === "retry" && block.kind === "retry") return block;
  if (last.kind === "end" && block.kind === "end" && !(last.end && block.end) && !(last.usage && block.usage)) {
    return { ...last, end: last.end ?? block.end, usage: last.usage ?? block.usage };
  }
  return null;
}

function continues(block: Block): boolean {
  const [entry] = block.sources;
  return (entry?.kind === "agent_message" || entry?.kind === "agent_thought") && entry.body.continues !== undefined;
}

/** Runs of the same kind fold into one. A failure stands alone, so that it is seen; so does a subagent. */
function sameRun(run: ToolBlock[], next: ToolBlock[]): boolean {
  const folds = (block: ToolBlock | undefined) => block && block.entry.body.status !== "failed" && !isSubagent(block);
  const [one, other] = [run.at(-1), next[0]];
  return Boolean(folds(one) && folds(other) && one?.entry.body.tool === other?.entry.body.tool);
}

function isSubagent(block: ToolBlock): boolean {
  return toolOf(block.entry.body.tool).icon === "subagent" || block.nested.length > 0;
}

const lastPhases: readonly string[] = ["running", "failed", "files-ready"];

/** Over also when something else follows, as when it was stopped. */
function phases(entry: LogEntryOf<"sandbox-phase">, next: LogEntry | undefined) {
  const isLast = lastPhases.includes(entry.body.phase);
  const follower = !isLast && next && next.kind !== "sandbox-phase" ? next : null;
  const sources = follower ? [entry, follower] : [entry];
  return { kind: "phases" as const, entries: [entry], done: isLast || follower !== null, sources };
}

/** Its sources include the entry that tells the reason, which may come after what it discards. */
function addDiscarded(blocks: Block[], block: Block, discard: LogEntryOf<"parts-discard"> | undefined): void {
  const last = blocks.at(-1);
  const reason = discard?.body.reason ?? null;
  if (last?.kind !== "discarded" || last.reason !== reason) {
    const sources = discard ? [...block.sources, discard] : block.sources;
    blocks.push({ key: `discarded-${block.key}`, sources, kind: "discarded", reason, blocks: [block] });
    return;
  }
  const inner = [...last.blocks];
  if (!joined(inner, block)) inner.push(block);
  blocks[blocks.length - 1] = { ...last, blocks: inner, sources: [...last.sources, ...block.sources] };
}

function discardsByNumber(entries: readonly LogEntry[]): Map<number, LogEntryOf<"parts-discard">> {
  const discards = new Map<number, LogEntryOf<"parts-discard">>();
  for (const entry of entries) {
    if (entry.kind !== "parts-discard") continue;
    for (const number of entry.body.numbers) discards.set(number, entry);
  }
  return discards;
}

/** The agent writes its plan anew each time; a turn shows the newest, where it stands. */
function newestPlanOfEachTurn(entries: readonly LogEntry[]): Map<string | null, LogEntry> {
  return new Map(entries.filter((entry) => entry.kind === "plan").map((entry) => [entry.turnId, entry]));
}

export function sameSources(one: Block, other: Block): boolean {
  return (
    one.key === other.key &&
    one.sources.length === other.sources.length &&
    one.sources.every((entry, index) => entry === other.sources[index])
  );
}
