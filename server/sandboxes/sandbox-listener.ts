import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createRequestServer, type RequestServer, type SandboxRequests } from "./sandbox-requests.ts";

export interface SandboxListenerOptions {
  requests: SandboxRequests;
  /** Whether a valid sandbox token was shown. */
  isSandbox(headers: IncomingHttpHeaders): Promise<boolean>;
  onError(error: unknown): void;
  /** How long somebody who was refused may go on: cut at once, a caller that still sends would lose the answer. */
  lingerMilliseconds?: number;
}

const headersMilliseconds = 15_000;

/**
 * Where sandboxes that have no socket of their own reach the server (DORMOUSE_SANDBOX_LISTEN). It serves the same as
 * those sockets do. Since anybody on the network may come here, nothing of a request but its headers is read before
 * it has shown a sandbox's token; whoever shows none is answered alike, whatever was asked for.
 */
export function createSandboxListener(options: SandboxListenerOptions): RequestServer {
  const { requests, isSandbox, onError, lingerMilliseconds = 1_000 } = options;
  const refuse = (response: ServerResponse, status: 401 | 503, message: string) =>
    answerRefusal(response, { status, message, lingerMilliseconds });

  async function admit(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!(await isSandbox(request.headers))) return refuse(response, 401, "A sandbox's token is needed here.");
    } catch (error) {
      onError(error);
      return refuse(response, 503, "Dormouse cannot check this sandbox's access at the moment.");
    }
    if (request.headers.expect) response.writeContinue();
    requests.serve(request, response);
  }

  const opened = createRequestServer({
    serve: (request, response) => void admit(request, response),
    // Egress looks at the token before anything else.
    connect: requests.connect,
  });
  // Otherwise Node asks for the body before anybody has looked at the headers.
  opened.server.on("checkContinue", (request, response) => void admit(request, response));
  opened.server.headersTimeout = headersMilliseconds;
  return opened;
}

function answerRefusal(
  response: ServerResponse,
  { status, message, lingerMilliseconds }: { status: 401 | 503; message: string; lingerMilliseconds: number },
): void {
  if (response.destroyed) return;
  const { socket } = response;
  const kind = status === 401 ? "unauthenticated" : "unavailable";
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: { kind, message } }));
  const timer = setTimeout(() => socket?.destroy(), lingerMilliseconds);
  socket?.once("close", () => clearTimeout(timer));
}
