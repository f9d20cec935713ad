import { call, lastResult, type Script, say, step } from "./act.ts";
import type { Conversation } from "./conversation.ts";
import { webPage } from "./web-page.ts";

const page = "outputs/index.html";

export const fileScripts: readonly Script[] = [
  {
    pattern:
      /\b(?:make|write|create|build)\b.*?\b(?:web ?page|web ?site|html page)\b(?:.*?\b(?:about|for|called|titled) (.+))?/is,
    example: "make a web page about hazelnuts",
    play: ({ conversation, match }) => {
      const title = titleFrom(match[1]);
      return step(conversation, [
        () =>
          call(
            "write",
            { filePath: conversation.pathOf(page), content: webPage(title) },
            {
              think: "A single file is enough: some structure, a little style and nothing to install.",
              text: "I will write a small web page. ",
            },
          ),
        () =>
          failed(conversation)
            ? say(`The page could not be written: ${firstLine(lastResult(conversation))}`)
            : say(
                `The page “${title}” is in \`${page}\`. Ask me to change its title or its colour, for example: change the colour to teal.`,
              ),
      ]);
    },
  },
  {
    pattern: /\bchange (?:the |its )?(title|heading|colou?r)\b.*? to ["“']?([^"”'\n]{1,80}?)["”']?[.!]?\s*$/is,
    example: "change the colour to teal",
    play: ({ conversation, match }) => {
      const value = match[2] ?? "";
      const edits = /^colou?r$/i.test(match[1] ?? "")
        ? [{ find: /--accent: [^;]+;/, put: `--accent: ${cssColour(value)};` }]
        : [
            { find: /<title>[^<]*<\/title>/, put: `<title>${escapeHtml(value)}</title>` },
            { find: /<h1>[^<]*<\/h1>/, put: `<h1>${escapeHtml(value)}</h1>` },
          ];
      const filePath = conversation.pathOf(page);
      const content = conversation.results[0] ?? "";
      // Only what really stands in the file can be replaced, and only by something else.
      const due = edits.flatMap(({ find, put }) => {
        const found = find.exec(content)?.[0];
        return found && found !== put ? [{ oldString: found, newString: put }] : [];
      });
      return step(conversation, [
        () => call("read", { filePath }, { think: "I will look at the page before I change it." }),
        ...due.map((edit) => () => call("edit", { filePath, ...edit })),
        () => {
          if (!edits.some(({ find }) => find.test(content))) {
            return say(`I found nothing to change in \`${page}\`. Ask me to make a web page first.`);
          }
          return say(due.length === 0 ? `It is already ${value}.` : `Done: the ${match[1]} is now ${value}.`);
        },
      ]);
    },
  },
  {
    pattern: /\b(?:grep|search)\b.*?\bfor ["“`']?([^"”`'\n]{1,100}?)["”`']?[.!?]?\s*$/is,
    example: "search the files for accent",
    play: ({ conversation, match }) =>
      step(conversation, [
        () => call("grep", { pattern: escapePattern(match[1] ?? "") }),
        () =>
          say(`This is what I found for “${match[1]}”:\n\n\`\`\`\n${clip(lastResult(conversation), 1_000)}\n\`\`\``),
      ]),
  },
  {
    pattern: /\blist\b.*?\bfiles\b/is,
    example: null,
    play: ({ conversation }) =>
      step(conversation, [
        () => call("glob", { pattern: "**/*" }),
        () => say(`These files are here:\n\n\`\`\`\n${clip(lastResult(conversation), 1_000)}\n\`\`\``),
      ]),
  },
  {
    pattern: /\b(?:read|show)\b(?: me)?(?: the)?(?: file)?(?:\s+[`"“']?([\w./-]+\.\w+)[`"”']?|.*\bpage\b)/is,
    example: "read the page",
    play: ({ conversation, match }) => {
      const wanted = match[1] ?? page;
      const filePath = wanted.startsWith("/") ? wanted : conversation.pathOf(wanted);
      return step(conversation, [
        () => call("read", { filePath }),
        () =>
          failed(conversation)
            ? say(`I could not read \`${wanted}\`: ${firstLine(lastResult(conversation))}`)
            : say(`I have read \`${wanted}\`: ${lastResult(conversation).match(/^\s*\d+: /gm)?.length ?? 0} lines.`),
      ]);
    },
  },
];

const failed = (conversation: Conversation) =>
  /^(Error|File not found|.*\bnot found\b)/i.test(lastResult(conversation));
const firstLine = (text: string) => text.split("\n", 1)[0] ?? "";
const clip = (text: string, maxLength: number) => (text.length > maxLength ? `${text.slice(0, maxLength)}\n…` : text);
const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const escapeHtml = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const cssColour = (text: string) => /^#?[a-z0-9]{1,30}/i.exec(text.trim())?.[0].toLowerCase() ?? "teal";

function titleFrom(words: string | undefined): string {
  const title = (words ?? "")
    .replace(/["“”<>&]/g, "")
    .replace(/[.!?\s]+$/, "")
    .trim()
    .slice(0, 60);
  return title ? `${title.charAt(0).toUpperCase()}${title.slice(1)}` : "A page by the demo model";
}
