import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readProcess } from "../processes/process-table.ts";
import { waitUntil } from "../test-sidecar.ts";
import { createAgentLog } from "./agent-log.ts";
import { launchAgent } from "./agent-process.ts";

/** Programs that behave as opencode does on its bad days. */
describe("an agent's process", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "dm-agent-"));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  async function launch(script: string, startMilliseconds?: number) {
    const opencode = join(await mkdtemp(join(directory, "p-")), "opencode");
    await writeFile(opencode, `#!/bin/bash\n${script}\n`);
    await chmod(opencode, 0o755);
    const log = createAgentLog();
    const environment = { PATH: "/usr/bin:/bin", OUT: `${opencode}.out` };
    const agent = launchAgent({
      opencode,
      workingDirectory: directory,
      environment,
      password: "p",
      log,
      ...(startMilliseconds ? { startMilliseconds } : {}),
    });
    const isReady = () => log.after(0).some(({ text }) => text === "ready");
    return { agent, out: environment.OUT, ready: () => waitUntil(isReady, "the program") };
  }

  it("that swallows the first SIGTERM gets a second one", async () => {
    const script = `trap 'echo term >> $OUT; [ $(wc -l < $OUT) -ge 2 ] && exit 0' TERM; echo ready; while :; do sleep 0.02; done`;
    const { agent, out, ready } = await launch(script);
    await ready();
    await agent.end();
    expect(await agent.exited).toContain("with code 0");
    expect(await readFile(out, "utf8")).toBe("term\nterm\n");
  });

  it("that hears nothing is killed with everything in its group", async () => {
    const { agent, out, ready } = await launch(
      `trap '' TERM; (while :; do sleep 0.1; done) & echo $! > $OUT; echo ready; while :; do sleep 0.1; done`,
    );
    await ready();
    const child = Number(await readFile(out, "utf8"));
    expect(readProcess(child)).not.toBeNull();
    await Promise.all([agent.end(), agent.end()]);
    expect(await agent.exited).toContain("SIGKILL");
    await waitUntil(() => readProcess(child) === null, "the end of its child");
  });

  it("that ends before it listens leaves its last words", async () => {
    const { agent } = await launch(`echo "file is not a database" >&2; exit 1`);
    await expect(agent.healthy()).rejects.toThrow(/with code 1\nfile is not a database/);
  });

  it("that never listens is given up, with what it said", async () => {
    const { agent, ready } = await launch(`echo "still loading" >&2; echo ready; exec sleep 60`, 2_000);
    await ready();
    await expect(agent.healthy()).rejects.toThrow(/did not answer within 2 s\nstill loading/);
    await agent.end();
  });

  it("that cannot be started says so", async () => {
    const agent = launchAgent({
      opencode: join(directory, "nothing"),
      workingDirectory: directory,
      environment: {},
      password: "p",
      log: createAgentLog(),
    });
    await expect(agent.healthy()).rejects.toThrow("could not be started");
    await agent.end();
  });
});
