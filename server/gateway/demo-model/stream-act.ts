import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Act } from "./act.ts";

export interface StreamOptions {
  response: ServerResponse;
  /** Aborted when the caller has gone or the server stops. */
  signal: AbortSignal;
  /** Comes between one word and the next. */
  afterWord(word: number, signal: AbortSignal): Promise<void>;
  id: string;
  model: string;
  /** Length of what was asked, for the count of tokens. */
  promptCharacters: number;
}

/** Before the connection breaks: a reset overtakes what was sent, and a tool needs time to run. */
const spokenMilliseconds = 100;
const callMilliseconds = 1_500;

type Spoken = Extract<Act, { kind: "say" | "call" | "drop" }>;

/** Server-sent chunks as OpenAI sends them, word by word. */
export async function streamAct(act: Spoken, options: StreamOptions): Promise<void> {
  const { response, signal } = options;
  const isPaced = act.kind !== "say" || act.pace !== "instant";
  let words = 0;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });

  const send = async (choices: unknown[], more: object = {}) => {
    const chunk = { ...header(options, "chat.completion.chunk"), choices, ...more };
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`)) await once(response, "drain", { signal });
  };
  const delta = async (change: object, finish: string | null = null) => {
    signal.throwIfAborted();
    await send([{ index: 0, delta: change, finish_reason: finish }]);
    if (isPaced && !finish) await options.afterWord(words++, signal);
  };

  await delta({ role: "assistant", content: "" });
  for (const word of wordsOf("think" in act ? act.think : undefined)) await delta({ reasoning_content: word });
  for (const word of wordsOf(act.text)) await delta({ content: word });
  const made = act.kind === "call" ? act : act.kind === "drop" ? act.call : undefined;
  if (made) {
    const { id, ...rest } = toolCall(made, options.id);
    await delta({ tool_calls: [{ index: 0, id, ...rest, function: { name: made.tool, arguments: "" } }] });
    for (const piece of JSON.stringify(made.input).match(/[\s\S]{1,40}/g) ?? []) {
      await delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
    }
  }
  if (act.kind === "drop") {
    await sleep(act.call ? callMilliseconds : spokenMilliseconds, undefined, { signal });
    response.destroy();
    return;
  }
  await delta({}, finishOf(act));
  await send([], { usage: usageOf(act, options.promptCharacters) });
  response.end("data: [DONE]\n\n");
}

/** The same in one piece, for a caller that did not ask for a stream. */
export function wholeAct(act: Exclude<Spoken, { kind: "drop" }>, options: StreamOptions): object {
  const message = {
    role: "assistant",
    content: act.text ?? null,
    ...(act.think && { reasoning_content: act.think }),
    ...(act.kind === "call" && { tool_calls: [toolCall(act, options.id)] }),
  };
  return {
    ...header(options, "chat.completion"),
    choices: [{ index: 0, message, finish_reason: finishOf(act) }],
    usage: usageOf(act, options.promptCharacters),
  };
}

const header = ({ id, model }: StreamOptions, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: Math.floor(Date.now() / 1000),
  model,
});
const wordsOf = (text: string | undefined) => text?.match(/\S+\s*|\s+/g) ?? [];
const finishOf = (act: Spoken) =>
  act.kind === "call" ? "tool_calls" : act.kind === "say" ? (act.finish ?? "stop") : "stop";

function toolCall(act: { tool: string; input: Record<string, unknown> }, id: string) {
  return { id: `call_${id}`, type: "function", function: { name: act.tool, arguments: JSON.stringify(act.input) } };
}

/** Four characters a token: an estimate, as good as any for a model that does not count. */
function usageOf(act: Spoken, promptCharacters: number) {
  const tokens = (text: string | undefined) => Math.ceil((text?.length ?? 0) / 4);
  const reasoning = tokens("think" in act ? act.think : undefined);
  const input = act.kind === "call" ? JSON.stringify(act.input) : "";
  const completion = reasoning + tokens(act.text) + tokens(input) + 1;
  const prompt = Math.ceil(promptCharacters / 4);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
