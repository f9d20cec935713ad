/** What opencode wraps into a tool's output, taken apart. */

/** The lines of a file, which opencode numbers inside a frame; null where there is no frame. */
export function readFrame(output: string): { text: string; firstLine: number } | null {
  const framed = /<content>\n([\s\S]*?)\n(?:\n\([^\n]*\)\n)?<\/content>/.exec(output)?.[1];
  if (framed === undefined) return null;
  const lines = framed.split("\n").map((line) => line.replace(/^\d+: ?/, ""));
  return { text: lines.join("\n"), firstLine: Number(/^(\d+): /.exec(framed)?.[1] ?? 1) };
}

/** What opencode appends to what a command printed, for example when it was stopped; null where it says nothing. */
export function shellFrame(output: string): { text: string; note: string } | null {
  const frame = /\s*<shell_metadata>\s*([\s\S]*?)\s*<\/shell_metadata>\s*$/.exec(output);
  return frame ? { text: output.slice(0, frame.index), note: frame[1] ?? "" } : null;
}

export function taskResult(output: string): string {
  return /<task_result>\n?([\s\S]*?)\n?<\/task_result>/.exec(output)?.[1] ?? output;
}
