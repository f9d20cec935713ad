import { type ClientRequest, createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { endToEndHeaders } from "../hop-headers.ts";
import { fault, Problem, problemBody, problemOf } from "../sidecar-problem.ts";
import { forwardPlainRequest } from "./forward-plain-request.ts";
import type { AskServer } from "./server-connection.ts";
import { tunnel } from "./tunnel.ts";

export interface AgentDoorOptions {
  askServer: AskServer;
  sandboxToken: string;
  agentPort: number;
}

export interface AgentDoor {
  server: Server;
  /**
   * Ends the calls that are on their way: another server has taken over, and whoever answers them may be
   * stopped for good. The agent tries again and reaches the new one.
   */
  cutCalls(): void;
}

/**
 * What the agent reaches on loopback: the server's model and API routes, to which its identity is
 * added here, and a proxy for everything else that leaves the sandbox.
 */
export function createAgentDoor({ askServer, sandboxToken, agentPort }: AgentDoorOptions): AgentDoor {
  const authorization = `Bearer ${sandboxToken}`;
  const calls = new Set<ClientRequest>();
  const own = new Set([`127.0.0.1:${agentPort}`, `localhost:${agentPort}`]);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "/" } = request;
    if (!url.startsWith("http://")) return forward({ request, response, path: serverPath(url) });
    const target = new URL(url);
    if (own.has(target.host)) return forward({ request, response, path: serverPath(target.pathname + target.search) });
    return forwardPlainRequest({ request, response, target, askServer, authorization });
  }

  async function forward(input: { request: IncomingMessage; response: ServerResponse; path: string }): Promise<void> {
    const { request, response, path } = input;
    const upstream = askServer({
      method: request.method ?? "GET",
      path,
      // Whatever the agent claims to be, it is this sandbox.
      headers: {
        ...endToEndHeaders(request.headers, ["authorization", "cookie", "forwarded"]),
        ...(request.headers["transfer-encoding"] ? { "transfer-encoding": "chunked" } : {}),
        authorization,
      },
    });
    calls.add(upstream);
    upstream.once("close", () => calls.delete(upstream));
    response.once("close", () => upstream.destroy());
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      upstream.on("response", resolve);
      upstream.on("error", reject);
    });
    // The server may answer, and refuse, before it has read everything.
    pipeline(request, upstream).catch(() => {});
    const answer = await answered.catch((error) => {
      throw fault("server-away", error);
    });
    response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.headers));
    response.flushHeaders();
    await pipeline(answer, response).catch(() => response.destroy());
  }

  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, (request, response) => {
    request.on("error", () => {});
    response.on("error", () => {});
    answer(request, response).catch((error) => refuse(response, problemOf(error)));
  });
  server.on("connect", (request, socket, head) => {
    tunnel({ target: request.url ?? "", socket, head, askServer, authorization });
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return {
    server,
    cutCalls() {
      for (const call of calls) call.destroy(new Error("Another server has taken over."));
    },
  };
}

function serverPath(path: string): string {
  const [pathname = ""] = path.split("?", 1);
  if (/(^|\/)(\.|%2e){1,2}(\/|$)/i.test(pathname))
    throw new Problem("invalid-input", "The path must not contain dot segments.");
  if (pathname.startsWith("/llm/")) return `/api${path}`;
  if (pathname.startsWith("/api/")) return path;
  throw new Problem("not-found", `The sidecar forwards /llm/ and /api/, not ${pathname.slice(0, 200)}.`);
}

function refuse(response: ServerResponse, problem: Problem): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(problem.status, { "content-type": "application/json", connection: "close" });
  response.end(problemBody(problem));
}
