import { once } from "node:events";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { causes } from "../server/protocol/causes.ts";
import { agentLog, type NumberedEvent } from "../server/protocol/sidecar.ts";
import {
  agentConfig,
  collectEvents,
  createAgentSession,
  createTestSandbox,
  deadline,
  isIdle,
  listAgentProcesses,
  prompt,
  type TestBoot,
  type TestSandbox,
  waitUntil,
} from "./test-sidecar.ts";

// Each start of opencode takes seconds, and many where other tests run beside it.
vi.setConfig({ testTimeout: 180_000 });

describe("a sidecar with the real opencode", () => {
  let sandbox: TestSandbox;
  let boot: TestBoot;
  beforeAll(async () => {
    sandbox = await createTestSandbox();
    boot = await sandbox.boot();
  });
  afterAll(() => sandbox?.remove());

  const agents = () => listAgentProcesses(sandbox.launch.sandboxId);
  const lastText = async (sessionId: string) => {
    type Messages = { parts: { type: string; text?: string }[] }[];
    const messages = await boot.client.json<Messages>({
      method: "GET",
      path: `/agent/session/${sessionId}/message`,
      signal: deadline(),
    });
    return messages
      .at(-1)
      ?.parts.filter(({ type }) => type === "text")
      .map(({ text }) => text)
      .join("");
  };
  const turn = async (sessionId: string, text: string) => {
    const { lastEvent } = await boot.client.health(deadline());
    await prompt(boot.client, sessionId, text);
    return collectEvents(boot.client, lastEvent, isIdle);
  };

  it("starts no agent before the gate is open", async () => {
    const { gate, agent } = await boot.client.health(deadline());
    expect({ gate, state: agent.state, life: agent.life }).toEqual({ gate: "closed", state: "waiting", life: 0 });
    expect((await boot.connection.request({ method: "GET", path: "/ready" })).statusCode).toBe(503);
    await expect(boot.client.json({ method: "GET", path: "/agent/session", signal: deadline() })).rejects.toMatchObject(
      { kind: "unavailable" },
    );
    await boot.client.restartAgent({}, deadline());
    expect(await agents()).toEqual([]);
    await expect(boot.client.waitForAgent(deadline())).rejects.toMatchObject({ kind: "unavailable" });
  });

  it("starts one agent when the gate is opened, however often that is asked", async () => {
    await Promise.all([boot.client.markRestored(deadline()), boot.client.markRestored(deadline())]);
    await boot.client.waitForAgent(deadline());
    await boot.client.markRestored(deadline());
    const { agent } = await boot.client.health(deadline());
    expect(agent).toMatchObject({ state: "running", life: 1, cause: null });
    expect(agent.version).toMatch(/^\d+\.\d+/);
    expect((await boot.connection.request({ method: "GET", path: "/ready" })).statusCode).toBe(200);
  });

  it("answers a prompt through the proxy, with the token added on its way to the server", async () => {
    const session = await createAgentSession(boot.client);
    await turn(session.id, "@@text good morning");
    expect(await lastText(session.id)).toBe("good morning");
    const call = sandbox.server.requests.find(({ url }) => url === "/api/llm/test/v1/chat/completions");
    expect(call?.headers.authorization).toBe(`Bearer ${sandbox.launch.sandboxToken}`);
  });

  it("finds ripgrep and its own directories, and no secret, in the agent's environment and files", async () => {
    const session = await createAgentSession(boot.client);
    await turn(session.id, "@@bash (rg --version; echo $HOME $XDG_DATA_HOME $HTTPS_PROXY) > outputs/found");
    const found = await readFile(join(session.directory, "outputs/found"), "utf8");
    const { workspace, launch } = sandbox;
    expect(found).toMatch(/^ripgrep \d+/);
    expect(found).toContain(`${workspace}/home ${workspace}/opencode-data http://127.0.0.1:${launch.agentPort}`);
    const processes = await agents();
    const password = /OPENCODE_SERVER_PASSWORD=([^\0]+)/.exec(processes[0]?.environment ?? "")?.[1] ?? "";
    expect(password).toHaveLength(32);
    expect(await filesWith(workspace, password)).toEqual([]);
    for (const secret of [launch.sandboxToken, launch.bootSecret]) {
      expect(await filesWith(workspace, secret)).toEqual([]);
      for (const { pid, environment } of processes) {
        expect(environment).not.toContain(secret);
        expect(await readFile(`/proc/${pid}/cmdline`, "utf8")).not.toContain(secret);
      }
    }
  });

  it("gives numbered events that are resumed without loss or repeat", async () => {
    const session = await createAgentSession(boot.client);
    await turn(session.id, "@@text one two three four five six");
    const whole = numbered(await collectEvents(boot.client, 0, upTo(await last())));
    expect(whole.map(({ number }) => number)).toEqual(whole.map((_, index) => index + 1));
    const middle = Math.floor(whole.length / 2);
    const rest = numbered(await collectEvents(boot.client, middle, upTo(whole.length)));
    expect(rest).toEqual(whole.slice(middle));
    const types = whole.map((event) => (event.type === "agent" ? event.payload.type : event.type));
    expect(types).toContain("message.part.delta");
    expect(types).not.toContain("sync");
    expect(types).not.toContain("server.heartbeat");
  });

  it("begins with hello, and refuses a number that has not been", async () => {
    const [hello] = await collectEvents(boot.client, 0, () => true);
    expect(hello).toMatchObject({ type: "hello", oldest: 1, bootId: boot.launch.bootId });
    await expect(collectEvents(boot.client, 1_000_000, () => true)).rejects.toMatchObject({ kind: "invalid-input" });
  });

  it("passes an abort of the caller on to opencode and goes on", async () => {
    const stop = new AbortController();
    const answer = await boot.client.send({ method: "GET", path: "/agent/global/event", signal: stop.signal });
    expect(answer.status).toBe(200);
    stop.abort();
    answer.body.on("error", () => {});
    await waitUntil(() => answer.body.destroyed, "the end of the answer");
    expect((await boot.client.health(deadline())).agent.state).toBe("running");
  });

  it("passes opencode's own refusals through", async () => {
    const request = { method: "GET", path: "/agent/session/ses_unknown", signal: deadline() } as const;
    expect((await boot.client.send(request)).status).toBe(404);
    await expect(boot.client.json(request)).rejects.toMatchObject({ kind: "not-found" });
  });

  it("stands still in the middle of a turn when it is frozen, and goes on there", async () => {
    const session = await createAgentSession(boot.client);
    const before = await boot.client.health(deadline());
    await prompt(boot.client, session.id, "@@bash while [ ! -e stop ]; do echo x >> count; sleep 0.01; done");
    const turnOver = collectEvents(boot.client, before.lastEvent, isIdle);
    const count = async () => (await readFile(join(session.directory, "count"), "utf8").catch(() => "")).length;
    await waitUntil(async () => (await count()) > 0, "the command");
    const { freezeId, frozen } = await boot.client.quiesce(deadline());
    expect(frozen).toBeGreaterThanOrEqual(2);
    const counted = await count();
    expect((await boot.client.activity(deadline())).processes.map(({ command }) => command).join()).toContain("stop");
    expect(await boot.client.freezeHolds(freezeId, deadline())).toEqual({ holds: true });
    expect(await count()).toBe(counted);
    await boot.client.resume(deadline());
    await waitUntil(async () => (await count()) > counted, "the command to go on");
    await writeFile(join(session.directory, "stop"), "");
    const lives = (await turnOver).filter(({ type }) => type === "life" || type === "gap");
    expect(lives).toEqual([]);
    expect(await lastText(session.id)).toBe("done");
    expect((await boot.client.health(deadline())).agent).toEqual(before.agent);
  });

  it("starts opencode again after kill -9, says so, and the next prompt works", async () => {
    const session = await createAgentSession(boot.client);
    const before = await boot.client.health(deadline());
    await prompt(boot.client, session.id, "@@hang");
    await waitUntil(() => sandbox.server.requests.some(({ body }) => body.includes("@@hang")), "the model call");
    const pid = await agentPid();
    process.kill(pid, "SIGKILL");
    const exited = await collectEvents(boot.client, before.lastEvent, (event) => isLife(event, "exited"));
    expect(exited.at(-1)).toMatchObject({ life: before.agent.life, cause: expect.stringContaining("SIGKILL") });
    await boot.client.waitForAgent(deadline());
    await waitUntil(() => sandbox.server.cut.length > 0, "the end of its model call");
    expect((await boot.client.health(deadline())).agent.life).toBe(before.agent.life + 1);
    await turn(session.id, "@@text here again");
    expect(await lastText(session.id)).toBe("here again");
    expect((await agents()).map(({ pid }) => pid)).not.toContain(pid);
  });

  it("restarts with a new configuration on request", async () => {
    const { agent, lastEvent } = await boot.client.health(deadline());
    await boot.client.restartAgent({ config: agentConfig("second") }, deadline());
    await boot.client.waitForAgent(deadline());
    expect((await boot.client.health(deadline())).agent.life).toBe(agent.life + 1);
    const events = await collectEvents(boot.client, lastEvent, (event) => isLife(event, "events-connected"));
    expect(events.filter(({ type }) => type === "life").map((event) => "what" in event && event.what)).toEqual(
      expect.arrayContaining(["exited", "started", "events-connected"]),
    );
    const session = await createAgentSession(boot.client);
    await turn(session.id, "@@text ok");
    expect(JSON.parse(sandbox.server.requests.at(-1)?.body ?? "{}").model).toBe("second");
    expect(await readFile(join(sandbox.workspace, "managed/opencode.json"), "utf8")).not.toContain("sidecar.invalid");
  });

  it("keeps what opencode said", async () => {
    const { lines } = agentLog.parse(
      await boot.client.json({ method: "GET", path: "/logs?after=0", signal: deadline() }),
    );
    expect(lines.some(({ text }) => text.includes("listening"))).toBe(true);
  });

  it("fetches no package that nobody asked for", async () => {
    expect(sandbox.server.connects).toEqual([]);
    expect(await readdir(join(sandbox.workspace, "home/.config/opencode/node_modules"))).toEqual([]);
  });

  it.each(["runs", "is frozen"])(
    "ends an opencode that %s and whose sidecar was killed, and it remembers",
    async (how) => {
      const session = await createAgentSession(boot.client);
      await turn(session.id, "@@text remembered");
      const pid = await agentPid();
      if (how === "is frozen") await boot.client.quiesce(deadline());
      boot.child.kill("SIGKILL");
      await once(boot.child, "exit");
      expect((await agents()).map((found) => found.pid)).toContain(pid);
      boot = await sandbox.boot();
      expect(await agents()).toEqual([]);
      await boot.wake();
      expect(await lastText(session.id)).toBe("remembered");
      expect((await boot.client.health(deadline())).agent.life).toBe(1);
    },
  );

  it("survives the end of its parent's pipes and a hang-up, and ends the agent on SIGTERM", async () => {
    boot.child.stderr?.destroy();
    boot.child.stdout?.destroy();
    boot.child.kill("SIGHUP");
    await boot.client.restartAgent({}, deadline());
    await boot.client.waitForAgent(deadline());
    const session = await createAgentSession(boot.client);
    await turn(session.id, "@@bash sleep 300 >/dev/null 2>&1 & echo started");
    boot.child.kill("SIGTERM");
    const [code] = await once(boot.child, "exit");
    expect(code).toBe(0);
    expect(await agents()).toEqual([]);
  });

  it("says opencode's last words when it cannot start, and starts when the cause is gone", async () => {
    const broken = join(sandbox.workspace, "opencode-data/opencode/opencode.db");
    await rename(broken, `${broken}.aside`);
    await rm(`${broken}-wal`, { force: true });
    await rm(`${broken}-shm`, { force: true });
    await writeFile(broken, "this is not a database ".repeat(1_000));
    boot = await sandbox.boot();
    await boot.client.markRestored(deadline());
    await waitUntil(async () => (await boot.client.health(deadline())).agent.state === "failed", "its failure");
    await expect(boot.client.waitForAgent(deadline())).rejects.toMatchObject({
      kind: "unavailable",
      message: causes["agent-start"].message,
      cause: { message: expect.stringMatching(/not a database|malformed/) },
    });
    await rename(`${broken}.aside`, broken);
    await boot.client.restartAgent({}, deadline());
    await boot.client.waitForAgent(deadline());
  });

  async function agentPid(): Promise<number> {
    return JSON.parse(await readFile(join(sandbox.workspace, "managed/agent.json"), "utf8")).pid;
  }

  async function last(): Promise<number> {
    return (await boot.client.health(deadline())).lastEvent;
  }
});

function numbered(events: NumberedEvent[]) {
  return events.filter((event) => event.type === "agent" || event.type === "life");
}

function upTo(number: number): (event: NumberedEvent) => boolean {
  return (event) => "number" in event && event.number >= number;
}

function isLife(event: NumberedEvent, what: string): boolean {
  return event.type === "life" && event.what === what;
}

async function filesWith(directory: string, secret: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.filter((entry) => entry.isFile())) {
    const path = join(entry.parentPath, entry.name);
    if ((await readFile(path).catch(() => Buffer.alloc(0))).includes(secret)) found.push(path);
  }
  return found;
}
