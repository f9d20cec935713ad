import { type ClientRequest, type OutgoingHttpHeaders, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { SidecarLaunch } from "../../server/protocol/sidecar.ts";

export interface ServerRequest {
  method: string;
  path: string;
  headers: OutgoingHttpHeaders;
  signal?: AbortSignal;
}

/** Opens a request to the server. Each has a connection of its own: one kept open would be dead after the server's restart. */
export type AskServer = (request: ServerRequest) => ClientRequest;

// With `close`, the server closes right after its answer, which it may give as soon as it has as many bytes as
// were announced. Node's own end of such a request is one more write, of nothing; upon a closed socket it fails
// with EPIPE, and the answer that has arrived is thrown away unread. So it is this side that closes.
const unhurried = { connection: "keep-alive" };

export function createServerConnection(server: SidecarLaunch["server"]): AskServer {
  if (server.kind === "socket") {
    return ({ headers, ...rest }) =>
      requestHttp({
        ...rest,
        socketPath: server.path,
        agent: false,
        headers: { host: "dormouse", ...headers, ...unhurried },
      });
  }
  const { protocol, hostname, port, host } = new URL(server.url);
  const send = protocol === "https:" ? requestHttps : requestHttp;
  return ({ headers, ...rest }) =>
    send({ ...rest, hostname, port: port || undefined, agent: false, headers: { host, ...headers, ...unhurried } });
}
