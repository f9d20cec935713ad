export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
  /** Numbers in the old and the new text, from 1. */
  old: number | null;
  new: number | null;
}

const maxCells = 4_000_000;

/**
 * The difference by lines: what is equal at both ends is set aside, the middle is compared by its
 * longest common subsequence. A middle too large for that is shown as taken out and put in whole.
 */
export function diffLines(oldText: string, newText: string): DiffLine[] {
  const [before, after] = [toLines(oldText), toLines(newText)];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) {
    end += 1;
  }
  const middle = compare(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const kinds = [
    ...before.slice(0, start).map((text) => ["same", text] as const),
    ...middle,
    ...before.slice(before.length - end).map((text) => ["same", text] as const),
  ];
  let [oldNumber, newNumber] = [0, 0];
  return kinds.map(([kind, text]) => ({
    kind,
    text,
    old: kind === "added" ? null : ++oldNumber,
    new: kind === "removed" ? null : ++newNumber,
  }));
}

export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  const of = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  return { added: of("added"), removed: of("removed") };
}

/** Only changes and what stands around them; `null` is where something was left out. */
export function withContext(lines: readonly DiffLine[], around = 3): (DiffLine | null)[] {
  const near = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.kind !== "same") near.fill(true, Math.max(0, index - around), index + around + 1);
  });
  const shown: (DiffLine | null)[] = [];
  lines.forEach((line, index) => {
    if (near[index]) shown.push(line);
    else if (shown.at(-1) !== null) shown.push(null);
  });
  return shown;
}

function toLines(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

function compare(before: string[], after: string[]): (readonly [DiffLine["kind"], string])[] {
  const removed = (text: string) => ["removed", text] as const;
  const added = (text: string) => ["added", text] as const;
  if (before.length * after.length > maxCells) return [...before.map(removed), ...after.map(added)];
  const width = after.length + 1;
  // lengths[i * width + j]: longest common subsequence of before[i…] and after[j…].
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const result: (readonly [DiffLine["kind"], string])[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      result.push(["same", before[i] ?? ""]);
      i += 1;
      j += 1;
    } else if (i < before.length && (j >= after.length || at(i + 1, j) >= at(i, j + 1))) {
      result.push(removed(before[i++] ?? ""));
    } else result.push(added(after[j++] ?? ""));
  }
  return result;
}
