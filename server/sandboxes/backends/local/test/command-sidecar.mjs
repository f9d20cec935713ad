import { execFile } from "node:child_process";
import { createServer, request } from "node:http";
import { text } from "node:stream/consumers";

/**
 * Stands in the place of the sidecar where a test wants to look at a sandbox from the inside: it runs what
 * it is told with bash, and calls the server. It is started by the backend exactly as the real one is.
 */
const launch = JSON.parse(await text(process.stdin));

const server = createServer(async (incoming, answer) => {
  const body = await text(incoming);
  if (incoming.url === "/health") return answer.end(JSON.stringify({ bootId: launch.bootId, launch }));
  if (incoming.url === "/server") return callServer(body, answer);
  execFile("/bin/bash", ["-c", body], { timeout: 20_000, maxBuffer: 10_000_000 }, (error, stdout, stderr) => {
    answer.end(JSON.stringify({ code: error ? (error.code ?? -1) : 0, output: stdout + stderr }));
  });
});
server.listen(launch.door.path);

/**
 * @param {string} path
 * @param {import("node:http").ServerResponse} answer
 */
function callServer(path, answer) {
  const call = request({ socketPath: launch.server.path, path }, async (response) => answer.end(await text(response)));
  call.on("error", (error) => answer.writeHead(502).end(String(error)));
  call.end();
}
