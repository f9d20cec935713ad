import { z } from "zod";
import { permissionRequest, questionRequest } from "@/server/protocol/ask-request.ts";
import type { EntryBody } from "@/server/protocol/log-entry.ts";
import { permissionPhrase } from "@/server/protocol/tools.ts";

/** A request that cannot be read is still shown, so that it can be answered. */
export function readQuestions(request: Record<string, unknown>) {
  const { data } = questionRequest.safeParse(request);
  return data?.questions ?? [{ text: "The agent has a question.", multiple: false, options: [] }];
}

export function readPermission(request: Record<string, unknown>) {
  const { data } = permissionRequest.safeParse(request);
  if (!data?.permission) return { permission: "use a tool", patterns: [], always: [] };
  return { ...data, permission: permissionPhrase(data.permission) };
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
