import { type IncomingMessage, type ServerResponse, request as sendRequest } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { endToEndHeaders } from "../hop-headers.ts";
import { Problem } from "../sidecar-problem.ts";
import type { AskServer } from "./server-connection.ts";
import { openTunnel } from "./tunnel.ts";

/** A proxied `http://` request: sent through a tunnel of its own, so that the server's egress decides on it as on any other. */
export async function forwardPlainRequest(input: {
  request: IncomingMessage;
  response: ServerResponse;
  target: URL;
  askServer: AskServer;
  authorization: string;
}): Promise<void> {
  const { request, response, target, askServer, authorization } = input;
  const opened = await openTunnel({ target: `${target.hostname}:${target.port || 80}`, askServer, authorization });
  if (opened.answer.statusCode !== 200) {
    opened.socket.destroy();
    const reason = opened.head.toString("utf8").slice(0, 500) || opened.answer.statusMessage;
    throw new Problem("forbidden", `The server's egress refused ${target.host}: ${reason}`);
  }
  response.once("close", () => opened.socket.destroy());
  if (opened.head.length > 0) opened.socket.unshift(opened.head);
  const upstream = sendRequest({
    createConnection: () => opened.socket as Socket,
    method: request.method,
    path: target.pathname + target.search,
    headers: {
      ...endToEndHeaders(request.headers),
      ...(request.headers["transfer-encoding"] ? { "transfer-encoding": "chunked" } : {}),
      host: target.host,
      // As towards the server: whoever closes first must not be the other side. The socket ends with the answer.
      connection: "keep-alive",
    },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    upstream.on("response", resolve);
    upstream.on("error", reject);
  });
  pipeline(request, upstream).catch(() => {});
  const answer = await answered.catch((error: Error) => {
    throw new Problem("upstream", `${target.host} broke off the connection before it answered.`, { cause: error });
  });
  response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.headers));
  await pipeline(answer, response).catch(() => response.destroy());
}
