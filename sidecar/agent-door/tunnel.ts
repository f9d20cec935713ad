import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { fault, Problem, problemBody, problemOf } from "../sidecar-problem.ts";
import type { AskServer } from "./server-connection.ts";

const openDeadline = 30_000;
const maxIdle = 15 * 60_000;

/** Asks the server's egress for a connection. Resolves with the answer, whatever its status, and the raw socket. */
export function openTunnel(input: {
  target: string;
  askServer: AskServer;
  authorization: string;
}): Promise<{ answer: IncomingMessage; socket: Duplex; head: Buffer }> {
  const { target, askServer, authorization } = input;
  return new Promise((resolve, reject) => {
    const request = askServer({
      method: "CONNECT",
      path: target,
      headers: { host: target, "proxy-authorization": authorization },
    });
    const late = setTimeout(() => request.destroy(new Error("no answer within 30 s")), openDeadline);
    request.on("connect", (answer, socket, head) => {
      clearTimeout(late);
      resolve({ answer, socket, head });
    });
    // Refused without the connection being given up to us.
    request.on("response", (answer) => {
      clearTimeout(late);
      answer.resume();
      reject(new Problem("forbidden", `The server's egress answered with status ${answer.statusCode}.`));
    });
    request.on("error", (error) => {
      clearTimeout(late);
      reject(fault("server-away", error));
    });
    request.end();
  });
}

/** CONNECT of the agent: bytes go both ways as they are, and so does the server's refusal. */
export function tunnel(input: {
  target: string;
  socket: Duplex;
  head: Buffer;
  askServer: AskServer;
  authorization: string;
}): void {
  const { socket, head } = input;
  socket.on("error", () => socket.destroy());
  openTunnel(input).then(
    (opened) => {
      const { answer } = opened;
      if (socket.destroyed) return void opened.socket.on("error", () => {}).destroy();
      const headers = answer.rawHeaders.flatMap((value, at) =>
        at % 2 === 0 ? [`${value}: ${answer.rawHeaders[at + 1]}\r\n`] : [],
      );
      socket.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${headers.join("")}\r\n`);
      socket.write(opened.head);
      opened.socket.write(head);
      join(socket, opened.socket);
    },
    (error: unknown) => {
      const problem = problemOf(error);
      const body = problemBody(problem);
      const length = Buffer.byteLength(body);
      socket.end(
        `HTTP/1.1 ${problem.status} ${problem.kind}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`,
      );
    },
  );
}

function join(left: Duplex, right: Duplex): void {
  for (const [from, to] of [
    [left, right],
    [right, left],
  ] as const) {
    if (from instanceof Socket) from.setTimeout(maxIdle, () => from.destroy());
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
    from.pipe(to);
  }
}
