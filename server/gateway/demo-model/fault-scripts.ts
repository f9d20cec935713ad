import { type Act, call, lastResult, type Script, say, step } from "./act.ts";
import { summaryMark } from "./said-before.ts";

const errors: Record<number, { message: string; type: string; code: string }> = {
  401: {
    message: "The demo model was asked to refuse the key.",
    type: "authentication_error",
    code: "invalid_api_key",
  },
  429: { message: "The demo model was asked to be too busy.", type: "rate_limit_error", code: "rate_limit_exceeded" },
};

// Scripts that fail come first: they have to win over whatever else the prompt says.
export const faultScripts: readonly Script[] = [
  {
    pattern: /\bfail (once )?with (?:an? )?(?:http |status )?([45]\d\d)\b/i,
    example: "fail with 500",
    play: ({ match, firstTry }) => {
      const status = Number(match[2]);
      const error = errors[status] ?? {
        message: `The demo model was asked to fail with ${status}.`,
        type: status < 500 ? "invalid_request_error" : "server_error",
        code: "demo_failure",
      };
      return unlessTriedAgain(match[1], firstTry, { kind: "fail", status, error });
    },
  },
  {
    pattern: /\bdrop the connection( once)?\b/i,
    example: null,
    play: ({ match, firstTry }) =>
      unlessTriedAgain(match[1], firstTry, { kind: "drop", text: "These words are lost with the connection " }),
  },
  {
    // With everything that a try can leave behind: a finished thought, a half text, a tool that ran.
    pattern: /\bbreak off once after (thinking|a call)\b/i,
    example: null,
    play: ({ conversation, match, firstTry }) => {
      const think = "First I think it over.";
      const text = "I count what is there. ";
      const made = { tool: "bash", input: { command: "echo ran >> ran.txt; wc -l < ran.txt" } };
      const isCut = conversation.results.length === 0 && firstTry();
      if (isCut) return { kind: "drop", think, text, ...(match[1] === "a call" && { call: made }) };
      return step(conversation, [
        () => call(made.tool, made.input, { think, text }),
        () => say(`It is done, and there are ${lastResult(conversation).trim()} of it.`),
      ]);
    },
  },
  {
    pattern: /\breach the length limit\b/i,
    example: null,
    play: () => ({ kind: "say", text: "This answer ends in the middle of a", finish: "length" }),
  },
  { pattern: /\bnever answer\b/i, example: null, play: () => ({ kind: "hang" }) },
  {
    pattern: /\bcontext overflow\b/i,
    example: null,
    play: ({ conversation }) =>
      // After the summary that opencode then makes, the conversation fits again.
      conversation.earlier.some(({ text }) => text.includes(summaryMark))
        ? say("The conversation was summarised, and now it fits again.")
        : {
            kind: "fail",
            status: 400,
            error: {
              message: "This model's maximum context length is 128000 tokens. Your messages are longer.",
              type: "invalid_request_error",
              code: "context_length_exceeded",
            },
          },
  },
];

function unlessTriedAgain(once: string | undefined, firstTry: () => boolean, fault: Act): Act {
  return once && !firstTry() ? say("The second try worked.") : fault;
}
