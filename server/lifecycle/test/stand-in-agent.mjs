#!/usr/bin/env -S PATH=/opt/dormouse/bin:${PATH} node
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";

/**
 * Behaves like `opencode serve` as far as a sandbox is concerned that nobody talks to: a password, health, events, and
 * a database in its data directory without which it does not start. It is there in a twentieth of the time. What it is
 * sent to run, it runs, as a tool would: with bash, in the background where it ends in an ampersand.
 */
// biome-ignore lint/style/noProcessEnv: it is a program of its own, and is told everything this way
const { OPENCODE_SERVER_PASSWORD = "", XDG_DATA_HOME = "" } = process.env;
const expected = `Basic ${Buffer.from(`opencode:${OPENCODE_SERVER_PASSWORD}`).toString("base64")}`;

const data = join(XDG_DATA_HOME, "opencode");
mkdirSync(data, { recursive: true });
// Not the name of the real one, which may come to this directory later and could not read it.
const database = new DatabaseSync(join(data, "stand-in.db"));
database.exec("CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY); SELECT count(*) FROM sqlite_schema");

const server = createServer((request, response) => {
  if (request.headers.authorization !== expected) return response.writeHead(401).end();
  if (request.url === "/global/health") {
    return response.setHeader("content-type", "application/json").end('{"healthy":true,"version":"stand-in"}');
  }
  if (request.url === "/run") return void run(request, response);
  if (request.url !== "/global/event") return response.writeHead(404).end();
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (/** @type {string} */ type) =>
    response.write(`data: ${JSON.stringify({ payload: { type, properties: {} } })}\n\n`);
  send("server.connected");
  const heart = setInterval(() => send("server.heartbeat"), 10_000);
  response.on("close", () => clearInterval(heart));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address && typeof address === "object") {
    console.log(`opencode server listening on http://127.0.0.1:${address.port}`);
  }
});
process.on("SIGTERM", () => process.exit(0));

/**
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 */
async function run(request, response) {
  execFile("bash", ["-c", await text(request)], (error, stdout, stderr) => {
    response.end(JSON.stringify({ code: error ? (error.code ?? -1) : 0, output: stdout + stderr }));
  });
}
