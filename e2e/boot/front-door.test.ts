import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { setupCode } from "./first-person.ts";
import { cleanUp, makeHome, runDormouse } from "./run-dormouse.ts";

afterEach(cleanUp);

const megabyte = 1024 * 1024;
// Six bodies of 400 MB come; a process that has just started grows by itself too.
const growth = 300 * megabyte;

/** The most that the process ever held. */
function peakOf(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Sends 400 MB, or as much as is taken; resolves to what was answered once the connection is closed. */
function sendWithoutEnd(url: string, path: string, length: "told" | "not told"): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const piece = Buffer.alloc(megabyte, "x");
  const size = 400;
  let answer = "";
  let sent = 0;
  socket.on("data", (chunk) => (answer += chunk));
  socket.on("error", () => {});
  const body = length === "told" ? `Content-Length: ${size * megabyte}` : "Transfer-Encoding: chunked";
  const type = "Content-Type: application/x-www-form-urlencoded";
  socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${type}\r\n${body}\r\n\r\n`);
  const goOn = () => {
    while (sent < size && !socket.destroyed) {
      sent += 1;
      if (length === "not told") socket.write(`${piece.length.toString(16)}\r\n`);
      const isRoom = socket.write(piece);
      if (length === "not told") socket.write("\r\n");
      if (!isRoom) return;
    }
  };
  socket.on("drain", goOn);
  goOn();
  return new Promise((resolve) => socket.once("close", () => resolve(answer)));
}

describe("bodies without end", () => {
  it("are refused everywhere in the one shape, and cost no memory", async () => {
    const dormouse = runDormouse({ home: await makeHome() });
    const url = await dormouse.ready();
    await fetch(`${url}/api/auth/csrf`);
    const before = peakOf(dormouse.process.pid);
    const paths = ["/api/auth/callback/credentials", "/api/v1/first-run", "/first-run"];
    for (const length of ["told", "not told"] as const) {
      const answers = await Promise.all(paths.map((path) => sendWithoutEnd(url, path, length)));
      for (const answer of answers) {
        expect(answer).toMatch(/^HTTP\/1\.1 413 /);
        expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toEqual({
          error: { kind: "too-large", message: "This request is too large. The limit here is 64 KB." },
        });
      }
    }
    expect(peakOf(dormouse.process.pid) - before).toBeLessThan(growth);
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
  });
});

describe("the set-up code", () => {
  it("is in the address that is printed, on loopback too, and only until the first account is made", async () => {
    const home = await makeHome();
    const first = runDormouse({ home });
    const url = await first.ready();
    const [, code] = /ready at \S+\/first-run#code=(\S+)/.exec(first.output()) ?? [];
    const person = { tenantName: "Dusk", name: "Ada", email: "ada@example.org", password: "correct horse battery" };
    const post = (setup: object) =>
      fetch(`${url}/api/v1/first-run`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...person, hostConsent: true, ...setup }),
      });
    expect([(await post({})).status, (await post({ setupCode: "ABCD-EFGH-JKMN" })).status]).toEqual([400, 403]);
    expect((await post({ setupCode: code })).status).toBe(201);
    first.process.kill("SIGTERM");
    expect(await first.ended()).toBe(0);

    const second = runDormouse({ home });
    await second.ready();
    expect(second.output()).not.toContain("first-run");
  });

  it("is not printed when it was configured", async () => {
    const dormouse = runDormouse({ home: await makeHome(), environment: { DORMOUSE_SETUP_CODE: setupCode } });
    await dormouse.ready();
    expect(dormouse.output()).not.toContain(setupCode);
    expect(dormouse.output()).not.toContain("#code=");
  });
});
