import { createServer, type IncomingMessage, type Server } from "node:http";

/**
 * The server as the sandbox sees it, for tests: a scripted, OpenAI-compatible model under
 * /api/llm/, told what to do by the last line of the prompt that begins with `@@`.
 */
export interface TestServer {
  /** Every request, with what the sidecar added. */
  requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[];
  /** Aborted by the client before they were finished. */
  cut: string[];
  connects: { target: string; authorization: string | undefined }[];
  listen(path: string): Promise<void>;
  close(): Promise<void>;
}

interface Message {
  role: string;
  content: unknown;
}

export function createTestServer(): TestServer {
  const sockets = new Set<{ destroy(): void }>();
  const state: TestServer = {
    requests: [],
    cut: [],
    connects: [],
    async listen(path) {
      await new Promise<void>((resolve) => server.listen(path, resolve));
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server: Server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    state.requests.push({ method, url, headers, body });
    response.on("close", () => response.writableFinished || state.cut.push(url));
    if (!url.endsWith("/chat/completions")) {
      response.writeHead(url.startsWith("/api/echo") ? 200 : 404, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ url, body }));
    }
    const write = (delta: object, reason: string | null = null) =>
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`,
      );
    response.writeHead(200, { "content-type": "text/event-stream" });
    const messages = (JSON.parse(body) as { messages: Message[] }).messages;
    const at = messages.findLastIndex(({ role }) => role === "user");
    const [, word = "text", rest = "hello"] = /^@@(\w+) ?(.*)$/m.exec(textOf(messages[at]?.content)) ?? [];
    const results = messages.slice(at + 1).filter(({ role }) => role === "tool").length;
    if (word === "hang") return void write({ role: "assistant", content: "begun " });
    if (word === "bash" && results === 0) {
      const call = { name: "bash", arguments: JSON.stringify({ command: rest, description: "test" }) };
      write({ role: "assistant", tool_calls: [{ index: 0, id: `call_${at}`, type: "function", function: call }] });
      write({}, "tool_calls");
    } else {
      for (const part of (word === "bash" ? "done" : rest).split(/(?<= )/)) write({ content: part });
      write({}, "stop");
    }
    response.end("data: [DONE]\n\n");
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("connect", (request, socket, head) => {
    state.connects.push({ target: request.url ?? "", authorization: request.headers["proxy-authorization"] });
    if (request.url?.startsWith("refused.")) {
      const refusal = '{"error":{"kind":"forbidden","message":"not allowed"}}';
      return void socket.end(`HTTP/1.1 403 Forbidden\r\ncontent-length: ${refusal.length}\r\n\r\n${refusal}`);
    }
    // Whatever is behind the tunnel says what it heard.
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const hear = (chunk: Buffer) => {
      const heard = chunk.toString();
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${heard.length}\r\n\r\n${heard}`);
    };
    if (head.length > 0) hear(head);
    socket.on("data", hear);
    socket.on("end", () => socket.end());
    socket.on("error", () => {});
  });
  return state;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? "").join("\n") : "";
}
