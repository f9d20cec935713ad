import { readFileSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../server/boot/processes.ts";
import { postmasterOf } from "../postmaster-of.ts";
import {
  cleanUp,
  makeDirectory,
  makeHome,
  postgresOf,
  type RunningDormouse,
  runDormouse,
  runToFailure,
} from "./run-dormouse.ts";

afterEach(cleanUp);

const kill = async (dormouse: RunningDormouse) => {
  dormouse.process.kill("SIGKILL");
  expect(await dormouse.ended()).toBe("SIGKILL");
};

describe("the end of Dormouse", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "by %s takes Postgres along and leaves nothing to clean up",
    async (signal) => {
      const home = await makeHome();
      const dormouse = runDormouse({ home });
      await dormouse.ready();
      expect(postgresOf(home).length).toBeGreaterThan(0);
      dormouse.process.kill(signal);
      expect(await dormouse.ended()).toBe(0);
      expect(postgresOf(home)).toEqual([]);
      expect(postmasterOf(home)).toBeNull();
      expect(dormouse.output()).not.toMatch(/"level":[56]0|did not end in time/);
    },
  );

  it("is heeded while the database is being made, and the next start works", async () => {
    const home = await makeDirectory();
    const first = runDormouse({ home });
    await first.says("Starting Postgres …");
    first.process.kill("SIGINT");
    expect(await first.ended()).not.toBe("SIGKILL");
    expect(postgresOf(home)).toEqual([]);
    await runDormouse({ home }).ready();
  });

  it("comes with the end of the launcher, however that ends", async () => {
    const home = await makeHome();
    const launcher = runDormouse({ home, command: [process.execPath, "scripts/start.mjs"] });
    await launcher.ready();
    const { pid } = JSON.parse(await readFile(join(home, "server.json"), "utf8")) as { pid: number };
    expect(pid).not.toBe(launcher.process.pid);
    launcher.process.kill("SIGKILL");
    expect(await waitUntil(() => postgresOf(home).length === 0, 30_000)).toBe(true);
    expect(await launcher.ended()).toBe("SIGKILL");
  });
});

describe("a start after kill -9", () => {
  it("takes over the Postgres that was left behind", async () => {
    const home = await makeHome();
    const first = runDormouse({ home });
    await first.ready();
    const orphan = postmasterOf(home);
    await kill(first);
    expect(postgresOf(home)).toContain(orphan);

    const second = runDormouse({ home });
    const url = await second.ready();
    expect(second.output()).toContain(`(pid ${orphan}) and took it over`);
    expect(postmasterOf(home)).toBe(orphan);
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
    second.process.kill("SIGTERM");
    expect(await second.ended()).toBe(0);
    expect(postgresOf(home)).toEqual([]);
  });

  it("recovers when Postgres was killed as well", async () => {
    const home = await makeHome();
    const first = runDormouse({ home });
    await first.ready();
    const pid = postmasterOf(home) ?? 0;
    await kill(first);
    process.kill(pid, "SIGKILL");
    expect(await waitUntil(() => postgresOf(home).length === 0, 10_000)).toBe(true);
    const url = await runDormouse({ home }).ready();
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
    expect(postmasterOf(home)).not.toBe(pid);
  });

  it("recovers from one in the middle of the first start", async () => {
    const home = await makeDirectory();
    const first = runDormouse({ home });
    await first.says("Starting Postgres …");
    await kill(first);
    await runDormouse({ home }).ready();
  });
});

describe("a Postgres that ends by itself", () => {
  const isReady = async (url: string) => {
    const answer = await fetch(`${url}/api/health/ready`, { signal: AbortSignal.timeout(10_000) });
    return answer.status === 200;
  };
  async function untilReady(dormouse: RunningDormouse): Promise<void> {
    const url = await dormouse.ready();
    let problem: unknown;
    for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(50)) {
      const ready = await isReady(url).catch((error: unknown) => {
        problem = error;
        return false;
      });
      if (ready) return;
    }
    throw new Error(`Dormouse did not get ready again (${problem}):\n${dormouse.output()}`);
  }

  it.each(["SIGKILL", "SIGQUIT"] as const)("by %s is started again where it was", async (signal) => {
    const home = await makeHome();
    const dormouse = runDormouse({ home });
    const url = await dormouse.ready();
    const before = postmasterOf(home) ?? 0;
    process.kill(before, signal);
    await dormouse.says("The embedded Postgres runs again");
    await untilReady(dormouse);
    expect(postmasterOf(home)).not.toBe(before);
    // A page that asks the database, over the connections that were there before.
    expect((await fetch(`${url}/sign-in`)).status).toBe(200);
    dormouse.process.kill("SIGTERM");
    expect(await dormouse.ended()).toBe(0);
    expect(postgresOf(home)).toEqual([]);
  });

  it("is waited for with a plain sentence, and only so often", async () => {
    const home = await makeHome();
    const dormouse = runDormouse({ home });
    const url = await dormouse.ready();
    // A start that cannot work: the data has lost its version.
    const version = join(home, "postgres", "data", "PG_VERSION");
    const kept = await readFile(version, "utf8");
    await rename(version, `${version}.away`);
    process.kill(postmasterOf(home) ?? 0, "SIGKILL");
    await dormouse.says("could not be started again");
    const answer = await fetch(`${url}/api/v1/sessions`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      error: { kind: "unavailable", message: expect.stringContaining("Dormouse cannot reach its database") },
    });
    const page = await fetch(`${url}/`);
    expect([page.status, await page.text()]).toEqual([
      503,
      expect.stringContaining("Dormouse cannot reach its database"),
    ]);
    const ready = await fetch(`${url}/api/health/ready`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining("Dormouse cannot reach its database"),
    ]);
    expect((await fetch(`${url}/api/health/live`)).status).toBe(200);
    expect(await dormouse.ended()).toBe(1);
    expect(dormouse.output()).toContain(`The end of ${join(home, "postgres.log")} says why`);
    expect(dormouse.output().match(/could not be started again/g)).toHaveLength(5);
    await writeFile(version, kept);
    await runDormouse({ home }).ready();
  });

  it("heals by itself when only one of its processes is killed", async () => {
    const home = await makeHome();
    const dormouse = runDormouse({ home });
    const url = await dormouse.ready();
    const before = postmasterOf(home) ?? 0;
    const backend = postgresOf(home).find((pid) => {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("dormouse_app");
    });
    process.kill(backend ?? 0, "SIGKILL");
    await untilReady(dormouse);
    expect((await fetch(`${url}/sign-in`)).status).toBe(200);
    expect(postmasterOf(home)).toBe(before);
    expect(dormouse.output()).not.toContain("ended by itself");
  });
});

describe("two starts with one home", () => {
  it("give one Dormouse, and the other says where it is", async () => {
    const home = await makeDirectory();
    const both = [runDormouse({ home }), runDormouse({ home })] as const;
    const first = await Promise.race(both.map((dormouse, index) => dormouse.ended().then(() => index)));
    const [loser, winner] = first === 0 ? both : ([both[1], both[0]] as const);
    expect(await loser.ended()).toBe(1);
    expect(loser.output()).toContain("Dormouse is already running with this data directory: ");
    const url = await winner.ready();
    expect(await runToFailure({ home })).toContain(`pid ${winner.process.pid} at ${url}`);
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
  });
});
