import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../server/boot/processes.ts";
import {
  cleanUp,
  makeDirectory,
  makeHome,
  postgresOf,
  postmasterOf,
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
  it("ends Dormouse with a word on where to look", async () => {
    const home = await makeHome();
    const dormouse = runDormouse({ home });
    await dormouse.ready();
    process.kill(postmasterOf(home) ?? 0, "SIGQUIT");
    expect(await dormouse.ended()).toBe(1);
    expect(dormouse.output()).toContain(`The end of ${join(home, "postgres.log")} says why`);
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
