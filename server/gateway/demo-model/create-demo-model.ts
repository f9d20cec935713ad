import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { answerProblem, problems } from "../answer-problem.ts";
import { maxRequestBytes } from "../gateway-route.ts";
import type { Act } from "./act.ts";
import { chooseAct } from "./choose-act.ts";
import { type ChatRequest, chatRequest, readConversation } from "./conversation.ts";
import { streamAct, wholeAct } from "./stream-act.ts";

/** `human` and `instant` can be configured; with an object of its own, a test decides when the next word comes. */
export type DemoPace = "human" | "instant" | DemoSteps;

export interface DemoSteps {
  /** Resolves when the word after this one, counted from 0 in each answer, may be said. */
  afterWord(word: number, signal: AbortSignal): Promise<void>;
}

export interface DemoModel {
  /** `chat/completions` and `models` of a provider that is a script. Resolves when the answer is over. */
  answer(call: {
    path: string;
    request: IncomingMessage;
    response: ServerResponse;
    signal: AbortSignal;
  }): Promise<void>;
}

const maxRemembered = 1_000;
const paces = {
  human: {
    afterWord: (_word: number, signal: AbortSignal) => sleep(25, undefined, { signal }),
    commandPause: 0.5,
  },
  instant: { afterWord: async () => {}, commandPause: 0.05 },
};

export function createDemoModel({ pace }: { pace: DemoPace }): DemoModel {
  const { commandPause } = typeof pace === "string" ? paces[pace] : paces.instant;
  const afterWord: DemoSteps["afterWord"] =
    typeof pace === "string" ? paces[pace].afterWord : (word, signal) => pace.afterWord(word, signal);
  // Requests that were refused once on demand: the only thing it remembers between two requests.
  const tried = new Set<string>();

  function firstTry(body: Buffer): boolean {
    const hash = createHash("sha256").update(body).digest("hex");
    if (tried.has(hash)) return false;
    if (tried.size >= maxRemembered) tried.clear();
    tried.add(hash);
    return true;
  }

  return {
    async answer({ path, request, response, signal: stopping }) {
      if (path === "models") {
        return answerJson(response, { object: "list", data: [{ id: "demo", object: "model", name: "Demo model" }] });
      }
      const body = await readBody(request, maxRequestBytes);
      if (!body) return answerProblem(response, "openai", problems.tooLarge);
      const chat = parseChat(body);
      if (!chat) return answerProblem(response, "openai", notChat);
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      const signal = AbortSignal.any([gone.signal, stopping]);
      const act = chooseAct(readConversation(chat), { pause: commandPause, firstTry: () => firstTry(body) });
      const id = randomBytes(8).toString("hex");
      const promptCharacters = JSON.stringify(chat.messages).length;
      const options = { response, signal, afterWord, id, model: chat.model, promptCharacters };
      try {
        if (act.kind === "fail") return refuse(response, act);
        if (act.kind === "hang") {
          response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
          await once(response, "close", { signal: stopping });
          return;
        }
        if (chat.stream || act.kind === "drop") return await streamAct(act, options);
        answerJson(response, wholeAct(act, options));
      } catch (error) {
        if (!signal.aborted) throw error;
        response.destroy();
      }
    },
  };
}

const notChat = {
  status: 400,
  message: "This is not a chat completion request.",
  type: "invalid_request_error",
  code: "invalid_request",
};

function parseChat(body: Buffer): ChatRequest | null {
  try {
    return chatRequest.parse(JSON.parse(body.toString("utf8")));
  } catch {
    return null;
  }
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The request stays open when it is too large, so that the refusal arrives.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answerJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** As a provider would, and not as Dormouse itself. */
function refuse(response: ServerResponse, { status, error }: Extract<Act, { kind: "fail" }>): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}
