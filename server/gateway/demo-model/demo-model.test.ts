import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sidecarOrigin } from "../../protocol/sidecar.ts";
import { type AgentMessage, type AgentPart, startTestAgent, type TestAgent } from "../test-caller.ts";
import { createTestGateway, type TestGateway } from "../test-gateway.ts";
import { scripts } from "./choose-act.ts";

// Turns of a real agent on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

// The real opencode calls the demo model through the real gateway; what counts is what it then did.
let test: TestGateway;
let agent: TestAgent;

beforeAll(async () => {
  test = await createTestGateway();
  const config = JSON.stringify(await test.gateway.agentConfig(test.person));
  agent = await startTestAgent(JSON.parse(config.replaceAll(sidecarOrigin, test.sidecarUrl)));
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await test[Symbol.asyncDispose]();
});

const parts = (messages: AgentMessage[]) => messages.flatMap((message) => message.parts);
const toolsOf = (messages: AgentMessage[]) => parts(messages).filter((part) => part.type === "tool");
const names = (messages: AgentMessage[]) => toolsOf(messages).map(({ tool, state }) => `${tool} ${state?.status}`);
const textOf = (messages: AgentMessage[]) =>
  parts(messages)
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("");
const file = (path: string) => readFile(join(agent.directory, path), "utf8");
const scriptFor = (prompt: string) => scripts.find(({ pattern }) => pattern.test(prompt));
const ask = async (text: string) => agent.prompt(await agent.createSession("test"), text);

describe("the demo model", () => {
  it("writes a page and changes its title and colour", async () => {
    const session = await agent.createSession("test");
    const made = await agent.prompt(session, "Please make a web page about hazelnuts.");
    expect(names(made)).toEqual(["write completed"]);
    expect(parts(made).find((part) => part.type === "reasoning")?.text).toContain("single file");
    expect(await file("outputs/index.html")).toContain("<title>Hazelnuts</title>");
    const coloured = await agent.prompt(session, "change the colour to teal");
    expect(names(coloured)).toEqual(["read completed", "edit completed"]);
    const titled = await agent.prompt(session, "Change the title to “Walnuts & co”.");
    expect(names(titled)).toEqual(["read completed", "edit completed", "edit completed"]);
    const page = await file("outputs/index.html");
    expect(page).toContain("--accent: teal;");
    expect(page).toContain("<h1>Walnuts &amp; co</h1>");
    expect(textOf(await agent.prompt(session, "change the colour to teal"))).toContain("already");
    const read = await agent.prompt(session, "read the page");
    expect(names(read)).toEqual(["read completed"]);
    expect(textOf(read)).toMatch(/outputs\/index\.html`: 2\d lines/);
    const found = await agent.prompt(session, "search the files for --accent: teal");
    expect(names(found)).toEqual(["grep completed"]);
    expect(textOf(found)).toContain("index.html");
  });

  it("says so when there is nothing to read", async () => {
    const read = await ask("read the file missing.txt");
    expect(names(read)).toEqual(["read error"]);
    expect(textOf(read)).toContain("could not read `missing.txt`");
  });

  it("runs commands, slow ones and exact ones", async () => {
    const slow = await ask("run a slow command");
    expect(names(slow)).toEqual(["bash completed"]);
    expect(toolsOf(slow)[0]?.state?.output).toContain("line 10 of 10");
    expect(textOf(slow)).toContain("line 10 of 10");
    const exact = await ask("run `echo $((6*7)) && pwd`");
    expect(toolsOf(exact)[0]?.state?.output).toContain(`42\n${agent.directory}`);
  });

  it("keeps a todo list through several steps", async () => {
    const session = await agent.createSession("test");
    const done = await agent.prompt(session, "make a todo list and work through it");
    expect(names(done)).toEqual([
      "todowrite completed",
      "write completed",
      "todowrite completed",
      "read completed",
      "todowrite completed",
      "todowrite completed",
    ]);
    const todos = (await agent.request(`/session/${session}/todo`)) as { status: string }[];
    expect(todos.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(await file("outputs/notes.md")).toContain("# Notes");
  });

  it("asks a question and hears the answer", async () => {
    const asked = ask("ask me a question");
    const question = await vi.waitFor(
      async () => {
        const [first] = (await agent.request("/question")) as { id: string }[];
        if (!first) throw new Error("not asked yet");
        return first;
      },
      { timeout: 15_000, interval: 100 },
    );
    await agent.request(`/question/${question.id}/reply`, {
      method: "POST",
      body: JSON.stringify({ answers: [["Moss"]] }),
    });
    expect(textOf(await asked)).toContain("You chose Moss");
  });

  it("starts a subagent that works with tools of its own", async () => {
    const session = await agent.createSession("test");
    const done = await agent.prompt(session, "start a subagent");
    expect(names(done)).toEqual(["task completed"]);
    expect(textOf(done)).toContain("> These files are here:");
    const [child] = (await agent.request(`/session/${session}/children`)) as { id: string }[];
    const inside = (await agent.request(`/session/${child?.id}/message`)) as AgentMessage[];
    expect(names(inside)).toEqual(["glob completed"]);
  });

  it("remembers what it was told in this session, also after it was summarised", async () => {
    const session = await agent.createSession("test");
    expect(textOf(await agent.prompt(session, "what is my name?"))).toContain("have not told me");
    await agent.prompt(session, "Remember that my name is Ada Lovelace, and that I like tea.");
    expect(textOf(await agent.prompt(session, "What is my name?"))).toContain("Your name is Ada Lovelace.");
    expect(textOf(await agent.prompt(session, "what did I tell you?"))).toContain("I like tea");
    await agent.request(`/session/${session}/summarize`, {
      method: "POST",
      body: JSON.stringify({ providerID: "demo", modelID: "demo" }),
    });
    expect(textOf(await agent.prompt(session, "What is my name?"))).toContain("Your name is Ada Lovelace.");
    expect(textOf(await agent.prompt(session, "what do you remember?"))).toContain("- Remember that my name is Ada");
    expect(textOf(await ask("What is my name?"))).toContain("have not told me");
  });

  it("writes long texts and bursts to the word, and thinks aloud", async () => {
    expect(textOf(await ask("write a long text of 700 words")).split(/\s+/)).toHaveLength(700);
    expect(textOf(await ask("burst 3000")).split(" ")).toHaveLength(3_000);
    const thought = await ask("think about dormice");
    expect(parts(thought).map((part: AgentPart) => part.type)).toContain("reasoning");
    expect(thought.at(-1)?.info.tokens).toMatchObject({ reasoning: expect.any(Number), output: expect.any(Number) });
    expect(thought.at(-1)?.info.tokens?.reasoning).toBeGreaterThan(10);
    expect(thought.at(-1)?.info.tokens?.input).toBeGreaterThan(1_000);
  });

  it("fails on demand in the way that was asked for", async () => {
    const refused = await ask("fail with 401");
    expect(refused.at(-1)?.info.error).toMatchObject({ name: "APIError", data: { statusCode: 401 } });
    expect(refused.at(-1)?.info.error?.data.message).toContain("asked to refuse the key");
    expect(textOf(await ask("fail once with 500"))).toBe("The second try worked.");
    expect(textOf(await ask("drop the connection once"))).toContain("The second try worked.");
    expect((await ask("reach the length limit")).at(-1)?.info.finish).toBe("length");
  });

  it("overflows its context, is summarised and goes on", async () => {
    const session = await agent.createSession("test");
    await agent.prompt(session, "my name is Bo");
    const messages = await agent.prompt(session, "context overflow");
    expect(messages.some(({ info }) => info.agent === "compaction")).toBe(true);
    expect(textOf(messages)).toContain("now it fits again");
    expect(textOf(await agent.prompt(session, "what is my name?"))).toContain("Your name is Bo.");
  });

  it("is silent on demand until it is stopped", async () => {
    const session = await agent.createSession("test");
    const silent = agent.prompt(session, "never answer");
    await vi.waitFor(
      async () => expect(await agent.request("/session/status")).toMatchObject({ [session]: { type: "busy" } }),
      { timeout: 15_000, interval: 100 },
    );
    await agent.request(`/session/${session}/abort`, { method: "POST" });
    expect(textOf(await silent)).toBe("");
  });

  it("gives a session its title and tells a newcomer what it can do", async () => {
    const session = await agent.createSession();
    const hello = textOf(await agent.prompt(session, "Hello there, who is this?"));
    expect(hello).toContain("demo model");
    expect(hello).toContain("Settings → Models");
    for (const { example } of scripts) if (example) expect(hello).toContain(example);
    await vi.waitFor(
      async () =>
        expect(await agent.request(`/session/${session}`)).toMatchObject({ title: "Hello there, who is this" }),
      { timeout: 15_000, interval: 100 },
    );
  });

  it("plays for each example that it offers the script that offers it", () => {
    for (const script of scripts) {
      if (script.example) expect(scriptFor(script.example)).toBe(script);
    }
    expect(scriptFor("what did I tell you about the plan?")).toBe(scriptFor("do you remember?"));
    expect(scriptFor("run `grep -r for .`")).toBe(scriptFor("run `true`"));
    expect(scriptFor("make a web page about my to-do list")).toBe(scriptFor("make a web page"));
  });
});
