import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { postmasterOf } from "../postmaster-of.ts";
import { becomeFirst, type FirstPerson, setupCode } from "./first-person.ts";
import { cleanUp, makeDirectory, postgresOf, type RunningDormouse, runDormouse } from "./run-dormouse.ts";

afterEach(cleanUp);

describe("a server that is replaced while a sandbox is awake", () => {
  it("leaves Postgres and the sandbox to the next one, at the same address", async () => {
    const home = await makeDirectory();
    const sources = await makeDirectory();
    const dormouse = runDormouse({
      home,
      environment: { DORMOUSE_DEMO_PACE: "instant", DORMOUSE_SETUP_CODE: setupCode },
      command: [process.execPath, "--input-type=module", "--eval", reloading(sources)],
    });
    const url = await dormouse.ready();
    const { call } = await becomeFirst(url);
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

/** `npm run dev`, but for the pages as they were built and with sources of its own to look at. */
function reloading(sources: string): string {
  const options = { root: process.cwd(), folders: [sources], server: ["server/main.ts"], check: ["--eval", ""] };
  return `import { runReloading } from "./scripts/lib/run-reloading.mjs";
process.exitCode = await runReloading({ node: process.execPath, ...${JSON.stringify(options)} });`;
}

async function runTurn(call: FirstPerson["call"], sessionId: string): Promise<void> {
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
