import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, makeDirectory, postgresOf, postmasterOf, type RunningDormouse, runDormouse } from "./run-dormouse.ts";

afterEach(cleanUp);

const account = { email: "ada@example.org", password: "correct horse battery" };

describe("a server that is replaced while a sandbox is awake", () => {
  it("leaves Postgres and the sandbox to the next one, at the same address", async () => {
    const home = await makeDirectory();
    const sources = await makeDirectory();
    const dormouse = runDormouse({
      home,
      environment: { DORMOUSE_DEMO_PACE: "instant" },
      command: [process.execPath, "--input-type=module", "--eval", reloading(sources)],
    });
    const url = await dormouse.ready();
    const call = await firstPerson(url);
    const { session } = await call<{ session: { id: string } }>("POST", "/api/v1/sessions");
    await runTurn(call, session.id);
    const before = { life: lifeIn(home), postmaster: postmasterOf(home), pid: serverIn(home).pid };

    await writeFile(join(sources, "changed.ts"), "");
    await readyAgain(dormouse);
    expect(serverIn(home)).toMatchObject({ url });
    expect(serverIn(home).pid).not.toBe(before.pid);
    await runTurn(call, session.id);
    expect(lifeIn(home)).toEqual(before.life);
    expect(postmasterOf(home)).toBe(before.postmaster);

    dormouse.process.kill("SIGTERM");
    expect(await dormouse.ended()).toBe(0);
    expect(postgresOf(home)).toEqual([]);
    expect(lifeIn(home)).toBeNull();
    expect(dormouse.output()).not.toMatch(/"level":[56]0|did not end in time/);
  });
});

type Call = <Result>(method: string, path: string, body?: unknown) => Promise<Result>;

/** `npm run dev`, but for the pages as they were built and with sources of its own to look at. */
function reloading(sources: string): string {
  const options = { root: process.cwd(), folders: [sources], server: ["server/main.ts"], check: ["--eval", ""] };
  return `import { runReloading } from "./scripts/lib/run-reloading.mjs";
process.exitCode = await runReloading({ node: process.execPath, ...${JSON.stringify(options)} });`;
}

async function firstPerson(url: string): Promise<Call> {
  const json = { "content-type": "application/json" };
  const person = { tenantName: "Dusk", name: "Ada", ...account, hostConsent: true };
  const made = await fetch(`${url}/api/v1/first-run`, { method: "POST", headers: json, body: JSON.stringify(person) });
  expect(made.status).toBe(201);
  const csrf = await fetch(`${url}/api/auth/csrf`);
  const { csrfToken } = (await csrf.json()) as { csrfToken: string };
  const signedIn = await fetch(`${url}/api/auth/callback/credentials`, {
    method: "POST",
    headers: { cookie: cookiesOf(csrf) },
    body: new URLSearchParams({ ...account, csrfToken, json: "true" }),
    redirect: "manual",
  });
  const headers = { ...json, cookie: cookiesOf(signedIn), origin: url };
  return async <Result>(method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Result;
  };
}

function cookiesOf(response: Response): string {
  const cookies = response.headers.getSetCookie();
  return cookies.map((cookie) => cookie.split(";")[0]).join("; ");
}

async function runTurn(call: Call, sessionId: string): Promise<void> {
  const path = `/api/v1/sessions/${sessionId}/turns`;
  await call("POST", path, { prompt: "Hello", idempotencyKey: crypto.randomUUID() });
  for (;;) {
    const { turns } = await call<{ turns: { state: string }[] }>("GET", path);
    if (turns.every(({ state }) => state === "finished")) return;
    if (turns.some(({ state }) => state === "failed")) throw new Error(JSON.stringify(turns));
    await sleep(100);
  }
}

async function readyAgain(dormouse: RunningDormouse): Promise<void> {
  while (dormouse.output().split("Dormouse is ready at ").length < 3) {
    if (dormouse.process.exitCode !== null) throw new Error(dormouse.output());
    await sleep(50);
  }
}

function serverIn(home: string): { pid: number; url: string } {
  return JSON.parse(readFileSync(join(home, "server.json"), "utf8"));
}

/** What was started for the one sandbox there is; null once it has ended. */
function lifeIn(home: string): unknown {
  const folder = join(home, "sandboxes");
  const [file] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /^[^/]+\/life\.json$/.test(name),
  );
  return file ? JSON.parse(readFileSync(join(folder, file), "utf8")) : null;
}
