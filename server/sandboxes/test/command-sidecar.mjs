import { execFile } from "node:child_process";
import { createServer, request } from "node:http";
import { text } from "node:stream/consumers";

/**
 * Stands where the sidecar would where a test wants to look at a sandbox from the inside: it runs what
 * it is told with bash, and calls the server. It is started by the backend exactly as the real one is.
 */
const launch = JSON.parse(await text(process.stdin));
const authorization = `Bearer ${launch.sandboxToken}`;

const server = createServer(async (incoming, answer) => {
  const body = await text(incoming);
  if (incoming.url === "/health") return answer.end(JSON.stringify({ bootId: launch.bootId, launch }));
  if (incoming.url === "/server") return callServer(body, answer);
  if (incoming.url === "/egress") return callEgress(body, answer);
  execFile("/bin/bash", ["-c", body], { timeout: 20_000, maxBuffer: 10_000_000 }, (error, stdout, stderr) => {
    answer.end(JSON.stringify({ code: error ? (error.code ?? -1) : 0, output: stdout + stderr }));
  });
});
server.listen(launch.door.kind === "socket" ? { path: launch.door.path } : launch.door);

/** Where the server is, for node:http. */
function serverOptions() {
  if (launch.server.kind === "socket") return { socketPath: launch.server.path };
  const { hostname, port } = new URL(launch.server.url);
  return { hostname, port };
}

/**
 * @param {string} path
 * @param {import("node:http").ServerResponse} answer
 */
function callServer(path, answer) {
  const call = request({ ...serverOptions(), path, headers: { authorization } }, async (response) =>
    answer.end(await text(response)),
  );
  call.on("error", (error) => answer.writeHead(502).end(String(error)));
  call.end();
}

/**
 * @param {string} target
 * @param {import("node:http").ServerResponse} answer
 */
function callEgress(target, answer) {
  const headers = { "proxy-authorization": authorization };
  const call = request({ ...serverOptions(), method: "CONNECT", path: target, headers });
  call.on("connect", (response, socket) => {
    socket.destroy();
    answer.end(response.statusMessage);
  });
  call.on("error", (error) => answer.writeHead(502).end(String(error)));
  call.end();
}
