import type { Conversation } from "./conversation.ts";

/** By this a summary of the demo model is known, and what it keeps of the person's words. */
export const summaryMark = "Summary by the demo model";
const keptLine = /^- Person: (.+)$/gm;
// opencode puts this in front of a summary.
const agentsOwnWords = "What did we do so far?";

/** What the person said before the last prompt, oldest first; a summary stands for what it replaced. */
export function saidBefore({ earlier }: Conversation): string[] {
  return earlier.flatMap(({ role, text }) => {
    if (role === "user") return text === agentsOwnWords ? [] : [text];
    return text.includes(summaryMark) ? keptIn(text) : [];
  });
}

/** opencode sends the conversation to be summarised as text, an earlier summary before it. */
export function summarise({ prompt }: Conversation): string {
  const conversation = /<conversation>\n([\s\S]*?)\n<\/conversation>/.exec(prompt)?.[1] ?? "";
  const said = [...conversation.matchAll(/^\[User\]: ([\s\S]*?)(?=\n\n\[\w+(?: \w+)*\]: |$(?![\s\S]))/gm)];
  const kept = [...keptIn(prompt), ...said.map((match) => match[1] ?? "")].slice(-50);
  const lines = kept.map((text) => `- Person: ${text.replace(/\s+/g, " ").slice(0, 300)}`);
  return `## ${summaryMark}\n\n${lines.length > 0 ? lines.join("\n") : "- Nothing was said yet."}`;
}

const keptIn = (text: string) => [...text.matchAll(keptLine)].map((match) => match[1] ?? "");
