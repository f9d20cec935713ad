import { z } from "zod";
import type { EntryBody } from "@/server/protocol/log-entry.ts";

const questionRequest = z.object({
  questions: z.array(
    z.object({
      question: z.string(),
      multiple: z.boolean().optional(),
      options: z.array(z.object({ label: z.string(), description: z.string().optional() })).default([]),
    }),
  ),
});

const permissionRequest = z.object({
  permission: z.string(),
  patterns: z.array(z.string()).default([]),
  /** What "always" would allow. */
  always: z.array(z.string()).default([]),
});

/** As in "May the agent …?". */
const deeds: Record<string, string> = {
  bash: "run this command",
  edit: "change these files",
  webfetch: "read this web page",
  websearch: "search the web",
  external_directory: "work outside the session's directory",
  doom_loop: "repeat the same step",
};

/** opencode's requests pass through as they came: what does not look as expected is still shown. */
export function readQuestions(request: Record<string, unknown>) {
  const read = questionRequest.safeParse(request);
  if (!read.success) return [{ text: "The agent has a question.", multiple: false, options: [] }];
  return read.data.questions.map(({ question, multiple = false, options }) => ({ text: question, multiple, options }));
}

export function readPermission(request: Record<string, unknown>) {
  const read = permissionRequest.safeParse(request);
  if (!read.success) return { permission: "use a tool", patterns: [], always: [] };
  const { permission, ...rest } = read.data;
  return { permission: deeds[permission] ?? `use ${permission}`, ...rest };
}

const replies: Record<string, string> = {
  once: "Allowed once.",
  always: "Always allowed.",
  reject: "Denied.",
};

const lists = z.array(z.array(z.string()));

/** A permission's answer is its reply; a question's is one list of words for each question. */
export function sayAnswer({ state, answer }: EntryBody<"ask">): string {
  if (state === "withdrawn") return "Not answered: the turn ended first.";
  if (typeof answer === "string") return replies[answer] ?? answer;
  const given = lists.safeParse(answer);
  return given.success ? `Answered: ${given.data.map((one) => one.join(", ")).join(" · ")}` : "Answered.";
}
