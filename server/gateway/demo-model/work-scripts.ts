import { call, lastResult, type Script, say, step } from "./act.ts";

export const commandScripts: readonly Script[] = [
  {
    // Exactly this command, in backticks: for trying out what a sandbox allows.
    pattern: /\brun\b[^`]*(?:```(?:\w*\n)?([\s\S]+?)```|`([^`]+)`)/i,
    example: "run `ls -la`",
    play: ({ conversation, match }) =>
      step(conversation, [
        () => call("bash", { command: (match[1] ?? match[2] ?? "").trim() }),
        () => say(`The command printed:\n\n\`\`\`\n${lastResult(conversation).slice(0, 4_000)}\n\`\`\``),
      ]),
  },
  {
    pattern: /\brun\b.*\bslow(?:ly)?\b(?:.*?\b(\d{1,3}) seconds)?/is,
    example: "run a slow command",
    play: ({ conversation, match, pause }) => {
      const lines = match[1] ? Number(match[1]) * 2 : 10;
      const sleep = match[1] ? 0.5 : pause;
      const command = `for i in $(seq 1 ${lines}); do echo "line $i of ${lines}"; sleep ${sleep}; done`;
      return step(conversation, [
        () => call("bash", { command }, { text: "I will run a command that takes a while. " }),
        () => say(`It is done. The last line was: ${lastResult(conversation).trim().split("\n").at(-1) ?? ""}`),
      ]);
    },
  },
];

export const workScripts: readonly Script[] = [
  {
    pattern: /\b(?:to-?do|plan)\b/i,
    example: "make a todo list and work through it",
    play: ({ conversation }) => {
      const filePath = conversation.pathOf("outputs/notes.md");
      return step(conversation, [
        () => call("todowrite", todos(0), { text: "I will plan first. " }),
        () => call("write", { filePath, content: "# Notes\n\nWritten by the demo model, step by step.\n" }),
        () => call("todowrite", todos(1)),
        () => call("read", { filePath }),
        () => call("todowrite", todos(2)),
        () => call("todowrite", todos(3)),
        () => say("All three steps are done; the notes are in `outputs/notes.md`."),
      ]);
    },
  },
  {
    pattern: /\bask(?:s|ing)? (?:me|a question|questions)\b/i,
    example: "ask me a question",
    play: ({ conversation }) =>
      step(conversation, [
        () =>
          call("question", {
            questions: [
              {
                question: "Which colour do you like best?",
                header: "Colour",
                options: [
                  { label: "Hazel", description: "Brown, with a little green" },
                  { label: "Moss", description: "Green, and quiet" },
                  { label: "Sky", description: "Blue" },
                ],
              },
            ],
          }),
        () => {
          const answer = /="([^"]*)"/.exec(lastResult(conversation))?.[1];
          return say(answer ? `You chose ${answer}. I will remember that.` : "You gave no answer, which is fine too.");
        },
      ]),
  },
  {
    pattern: /\bsub-?agents?\b/i,
    example: "start a subagent",
    play: ({ conversation }) =>
      step(conversation, [
        () =>
          call(
            "task",
            { description: "List the files", subagent_type: "general", prompt: "List all files here and report them." },
            { text: "I will ask a subagent to look around. " },
          ),
        () => say(`The subagent reported:\n\n${quote(lastResult(conversation))}`),
      ]),
  },
];

const titles = ["Write the notes", "Read them again", "Say that it is done"];

function todos(done: number) {
  return {
    todos: titles.map((content, index) => ({
      content,
      status: index < done ? "completed" : index === done ? "in_progress" : "pending",
      priority: "medium",
    })),
  };
}

function quote(text: string): string {
  const report = /<task_result>\s*([\s\S]*?)\s*<\/task_result>/.exec(text)?.[1] ?? text;
  return report
    .slice(0, 1_000)
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}
