import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A model that does what the last line of the prompt says; OpenAI-compatible, streamed. */
export interface TestModel {
  url: string;
  /** What it was asked, as role and text of each message. */
  requests: { role: string; text: string }[][];
  close(): Promise<void>;
}

interface ChatMessage {
  role: string;
  content: string | { type: string; text?: string }[] | null;
}

/**
 * `say <text>`; `slow <n>`: n words, one every 20 ms; `call <tool> <json>`: a tool call, then "done".
 * Anything else is repeated.
 */
export async function startTestModel(): Promise<TestModel> {
  const requests: TestModel["requests"] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { messages } = JSON.parse(body || "{}") as { messages: ChatMessage[] };
    requests.push(messages.map(({ role, content }) => ({ role, text: textOf(content) })));
    await answer(messages, response);
    response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function answer(messages: ChatMessage[], response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: Record<string, unknown>, finish: string | null = null) =>
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  const last = messages.findLastIndex(({ role }) => role === "user");
  const prompt = textOf(messages[last]?.content ?? "");
  const line = /^(say|slow|call) .*$/gm.exec(prompt)?.[0] ?? `say ${prompt}`;
  const [verb, ...rest] = line.split(" ");
  const isAnswered = messages.slice(last + 1).some(({ role }) => role === "tool");
  if (verb === "call" && !isAnswered) {
    const [name, ...json] = rest;
    send({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: json.join(" ") } }] });
    send({}, "tool_calls");
    return;
  }
  if (verb === "slow") {
    for (let word = 0; word < Number(rest[0]) && !response.destroyed; word++) {
      send({ content: `w${word} ` });
      await sleep(20);
    }
  } else send({ content: verb === "call" ? "done" : rest.join(" ") });
  send({}, "stop");
}

function textOf(content: ChatMessage["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text }) => text ?? "").join("\n");
}
