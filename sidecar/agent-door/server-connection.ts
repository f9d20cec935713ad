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

// With `close`, the server closes right after its answer, and calls that were answered at once failed here
// with EPIPE about one time in three. So it is this side that closes.
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
