import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * An OpenAI-compatible model that answers at once, so that what is measured is the way to it and
 * back. `burst N` in the prompt streams N chunks as quickly as they are taken; `stamp N every M` one
 * each M milliseconds, with the time in it (see `timesIn`); anything else, ten words.
 */
export interface ScriptedModel extends AsyncDisposable {
  url: string;
}

export async function startScriptedModel(): Promise<ScriptedModel> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.url?.endsWith("/models")) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
      return;
    }
    const { messages = [] } = JSON.parse(body || "{}") as { messages?: { role: string; content: unknown }[] };
    await answer(response, textOf(messages.findLast(({ role }) => role === "user")?.content));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function answer(response: ServerResponse, prompt: string): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const send = (delta: Record<string, unknown>, finish: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "scripted", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  send({ role: "assistant", content: "" });
  const [, stamps, every] = /\bstamp (\d+) every (\d+)/.exec(prompt) ?? [];
  const count = Number(stamps ?? /\bburst (\d+)/.exec(prompt)?.[1] ?? 10);
  for (let index = 0; index < count; index++) {
    if (every) await sleep(Number(every));
    const content = stamps ? `@${now().toFixed(2)} ` : `word${index} `;
    if (response.destroyed) return;
    if (!send({ content })) await new Promise((done) => response.once("drain", done));
  }
  send({}, "stop");
  response.write(
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "scripted", choices: [], usage: { prompt_tokens: 10, completion_tokens: count, total_tokens: count + 10 } })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}

/** Milliseconds on a clock that all processes of a machine share. */
export const now = (): number => performance.timeOrigin + performance.now();

/** When the model said what is in this text. */
export const timesIn = (text: string): number[] => [...text.matchAll(/@(\d+\.\d\d) /g)].map(([, time]) => Number(time));

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("\n");
}
