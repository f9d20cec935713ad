import { type Script, say } from "./act.ts";
import { saidBefore } from "./said-before.ts";

export const talkScripts: readonly Script[] = [
  {
    pattern: /\bburst(?: of)? (\d{1,6})\b/i,
    example: null,
    play: ({ match }) => ({ kind: "say", text: words(Math.min(Number(match[1]), 100_000)), pace: "instant" }),
  },
  {
    pattern: /\blong (?:text|answer)\b(?:.*?\b(\d{1,6}) words)?/is,
    example: "write a long text of 500 words",
    play: ({ match }) => say(longText(Math.min(Number(match[1] ?? 300), 100_000))),
  },
  {
    pattern: /\b(?:what(?:'s| is) my name|who am i)\b/i,
    example: "what is my name?",
    play: ({ conversation }) => {
      const pattern = /\bmy name is ["“']?([\p{L}\p{N}' -]{1,40}?)["”']?(?:[.,;!?\n]| and\b|$)/iu;
      const said = saidBefore(conversation).findLast((text) => pattern.test(text));
      const name = said && pattern.exec(said)?.[1]?.trim();
      return say(name ? `Your name is ${name}. You told me so earlier in this session.` : unknown("your name"));
    },
  },
  {
    pattern: /\bwhat (?:did i (?:tell|say|ask)|do you (?:remember|know about me))|\bdo you remember\b/i,
    example: null,
    play: ({ conversation }) => {
      const kept = saidBefore(conversation).map((text) => text.slice(0, 300));
      return say(
        kept.length > 0
          ? `You told me in this session:\n\n${kept.map((fact) => `- ${fact}`).join("\n")}`
          : unknown("anything"),
      );
    },
  },
  {
    pattern: /^\W*(?:please )?(?:remember|keep in mind)\b|\bmy name is\b/i,
    example: "remember that my name is Ada",
    play: ({ conversation }) => say(`I will remember that: “${conversation.prompt.slice(0, 300)}”. Ask me later.`),
  },
  {
    pattern: /\bthink (?:about|aloud|hard)\b/i,
    example: "think about dormice",
    play: ({ conversation }) =>
      say("A dormouse sleeps for half of its life and wakes with everything in its place. That is the whole idea.", {
        think: `The prompt asks me to think, so I do it aloud. It says: ${conversation.prompt.slice(0, 200)} A demo model has no opinion, but it can say what this place is for.`,
      }),
  },
];

const unknown = (what: string) => `You have not told me ${what} in this session, or it was forgotten.`;

const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index + 1}`).join(" ");

function longText(count: number): string {
  const vocabulary = "the dormouse sleeps in a hollow oak while rain falls and hazel leaves turn slowly to gold".split(
    " ",
  );
  const text = Array.from({ length: count }, (_, index) => {
    const word = vocabulary[index % vocabulary.length] ?? "";
    const end = (index + 1) % 60 === 0 ? ".\n\n" : (index + 1) % vocabulary.length === 0 ? ". " : " ";
    return word + end;
  });
  return text.join("").trim();
}
