import { type Act, type Script, say } from "./act.ts";
import type { Conversation } from "./conversation.ts";
import { faultScripts } from "./fault-scripts.ts";
import { fileScripts } from "./file-scripts.ts";
import { summarise } from "./said-before.ts";
import { talkScripts } from "./talk-scripts.ts";
import { commandScripts, workScripts } from "./work-scripts.ts";

// The more exact a pattern, the earlier it stands: "remember my plan" is no plan, "run `grep for x`" no search.
export const scripts: readonly Script[] = [
  ...faultScripts,
  ...talkScripts,
  ...commandScripts,
  ...fileScripts,
  ...workScripts,
];

export interface Circumstances {
  pause: number;
  firstTry: () => boolean;
}

export function chooseAct(conversation: Conversation, circumstances: Circumstances): Act {
  if (conversation.purpose === "title") return say(titleOf(conversation.prompt));
  if (conversation.purpose === "summary") return say(summarise(conversation));
  for (const { pattern, play } of scripts) {
    const match = pattern.exec(conversation.prompt);
    if (match) return play({ conversation, match, ...circumstances });
  }
  return say(introduction());
}

function introduction(): string {
  const examples = scripts.flatMap(({ example }) => (example ? [`- ${example}`] : []));
  return [
    "I am the **demo model**: a fixed script that shows you how Dormouse works before you connect a real model. An admin can add a key in **Settings → Models**.",
    "I understand a few simple requests:",
    examples.join("\n"),
  ].join("\n\n");
}

function titleOf(prompt: string): string {
  const words = prompt
    .replace(/[`*_#<>"“”]/g, "")
    .split(/\s+/)
    .filter(Boolean);
  let title = "";
  for (const word of words) {
    if (title.length + word.length > 46) break;
    title = title ? `${title} ${word}` : word;
  }
  title = (title || prompt.slice(0, 46)).replace(/[.,;:!?]+$/, "");
  return title ? title.charAt(0).toUpperCase() + title.slice(1) : "A quick hello";
}
