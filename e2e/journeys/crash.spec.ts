import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { becomeFirst, newAccount, signIn } from "../fixtures/accounts.ts";
import { type Dormouse, startDormouse } from "../fixtures/dormouse.ts";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { addProvider } from "../fixtures/providers.ts";
import { findSandbox } from "../fixtures/sandbox-view.ts";
import {
  answers,
  beginSession,
  endsOf,
  expectTurnsEnded,
  hasEnded,
  lastAnswer,
  readLog,
  send,
  shownText,
  stopButton,
  transcript,
  turnPatience,
} from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";
import { createTestWords } from "../fixtures/test-provider.ts";
import { postmasterOf } from "../postmaster-of.ts";

// A server of its own: it is killed here. The model outlives it, and says as many words as it may.
let dormouse: Dormouse;
let model: ModelServer;
const words = createTestWords();
const person = newAccount("Crash Tester");
test.beforeAll(async ({ browser }) => {
  dormouse = await startDormouse();
  model = await startModelServer({ pace: words });
  const page = await browser.newPage({ baseURL: dormouse.url });
  await becomeFirst(page, person);
  await addProvider(page.request, model);
  await page.close();
});
test.afterEach(() => words.allowAll());
test.afterAll(async () => {
  await dormouse?.stop();
  await model?.stop();
});

async function signedIn(page: Page): Promise<Page> {
  await page.goto("/sign-in");
  await signIn(page, person);
  await expect(page.getByRole("heading", { name: `Hello, ${person.name}` })).toBeVisible();
  return page;
}

test("a server that is killed in mid-answer and started again finishes it, whole and once, in the open page", async ({
  openBrowser,
}) => {
  const page = await signedIn(await openBrowser({ baseURL: dormouse.url }));
  words.allow(60);
  const sessionId = await beginSession(page, "write a long text of 400 words");
  await expect(answers(page)).toHaveCount(1, { timeout: turnPatience });
  await expect.poll(async () => (await shownText(page)).length).toBeGreaterThan(100);
  await dormouse.kill();
  await expect(page.getByText("Connection lost.")).toBeVisible();
  words.allowAll();
  await dormouse.startAgain();
  await expectTurnsEnded(page, 1);
  const log = await readLog(page, sessionId, hasEnded(1));
  expect(endsOf(log).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
  expect(log.entries.filter(({ kind }) => kind === "parts-discard")).not.toEqual([]);
  expect(lastAnswer(log).split(" ")).toHaveLength(400);
  // The cut part is there for whoever wants to see it, and not in the way.
  await expect(transcript(page).getByRole("button", { name: /^Failed attempt/ })).toBeVisible();
  await expect(answers(page)).toHaveCount(1);
  expect(await shownText(page)).toBe(lastAnswer(log));
  const shown = await transcript(page).textContent();
  await page.reload();
  await expect(transcript(page)).toHaveText(shown ?? "");

  await send(page, "run `echo before; until [ -e go ]; do sleep 0.1; done; echo after`");
  await readLog(page, sessionId, ({ entries }) => JSON.stringify(entries).includes("before\\n"));
  await dormouse.kill();
  await dormouse.startAgain();
  const { workspace } = await findSandbox(sessionId, dormouse.home);
  await writeFile(join(workspace, "sessions", sessionId, "go"), "");
  await expectTurnsEnded(page, 2);
  expect(JSON.stringify(await readLog(page, sessionId, hasEnded(2)))).toContain("before\\nafter\\n");

  words.allow(60);
  await send(page, "write a long text of 4000 words");
  await stopButton(page).click();
  await expect(transcript(page).getByText(/^Stopped/)).toBeVisible();
});

test("a database that is killed in mid-answer and in mid-command ends no turn", async ({ openBrowser }) => {
  const page = await signedIn(await openBrowser({ baseURL: dormouse.url }));
  const killDatabase = async () => {
    const pid = postmasterOf(dormouse.home) ?? 0;
    process.kill(pid, "SIGKILL");
    await expect.poll(() => postmasterOf(dormouse.home) ?? pid, { timeout: 60_000 }).not.toBe(pid);
  };
  words.allow(60);
  const sessionId = await beginSession(page, "write a long text of 400 words");
  await expect(answers(page)).toHaveCount(1, { timeout: turnPatience });
  await expect.poll(async () => (await shownText(page)).length).toBeGreaterThan(100);
  await killDatabase();
  words.allowAll();
  await expectTurnsEnded(page, 1);
  const answered = await readLog(page, sessionId, hasEnded(1));
  expect(lastAnswer(answered).split(" ")).toHaveLength(400);
  expect(await shownText(page)).toBe(lastAnswer(answered));

  await send(page, "run `echo before; until [ -e go ]; do sleep 0.1; done; echo after`");
  await readLog(page, sessionId, ({ entries }) => JSON.stringify(entries).includes("before\\n"));
  const { workspace } = await findSandbox(sessionId, dormouse.home);
  const killed = killDatabase();
  // The agent asks its model while the database is away.
  await writeFile(join(workspace, "sessions", sessionId, "go"), "");
  await killed;
  await expectTurnsEnded(page, 2);
  const log = await readLog(page, sessionId, hasEnded(2));
  expect(JSON.stringify(log)).toContain("before\\nafter\\n");
  expect(endsOf(log).map(({ body }) => body)).toEqual([{ outcome: "finished" }, { outcome: "finished" }]);
  // Where the agent had to try again, it was for the database, and said so.
  for (const entry of log.entries) {
    if (entry.kind === "parts-discard") expect(entry.body.reason).toContain("cannot reach its database");
    expect(entry.kind).not.toBe("error");
  }
});
