import type { AskRequest } from "../protocol/ask-request.ts";
import { isFields } from "./tool-content.ts";

type Fields = Record<string, unknown>;

/** What opencode asks, in the words of the log. What it does not say as expected is left out: the ask is still shown. */
export function toAskRequest(asked: Fields): AskRequest {
  if (Array.isArray(asked.questions)) return { questions: asked.questions.filter(isFields).map(toQuestion) };
  return {
    permission: typeof asked.permission === "string" ? asked.permission : "",
    patterns: textsOf(asked.patterns),
    always: textsOf(asked.always),
  };
}

function toQuestion({ question, text, multiple, options }: Fields) {
  return {
    // `text` is ours: an entry that was read before is read again without harm.
    text: typeof question === "string" ? question : typeof text === "string" ? text : "",
    multiple: multiple === true,
    options: Array.isArray(options) ? options.filter(isFields).flatMap(toOption) : [],
  };
}

function toOption({ label, description }: Fields) {
  if (typeof label !== "string") return [];
  return [{ label, ...(typeof description === "string" && { description }) }];
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
