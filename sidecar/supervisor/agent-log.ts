import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export interface LogLine {
  number: number;
  at: number;
  stream: string;
  text: string;
}

/** The last lines that opencode wrote, and what the sidecar has to say about it. */
export interface AgentLog {
  add(stream: string, text: string): void;
  follow(stream: string, output: Readable, onLine?: (text: string) => void): void;
  after(number: number): LogLine[];
}

const maxLines = 2_000;
const maxCharacters = 4_000;

export function createAgentLog(): AgentLog {
  const lines: LogLine[] = [];
  let last = 0;

  function add(stream: string, text: string): void {
    last += 1;
    lines.push({ number: last, at: Date.now(), stream, text: text.slice(0, maxCharacters) });
    if (lines.length > maxLines) lines.shift();
  }

  return {
    add,
    follow(stream, output, onLine) {
      output.on("error", () => {});
      createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (text) => {
        add(stream, text);
        onLine?.(text);
      });
    },
    after: (number) => lines.filter((line) => line.number > number),
  };
}
