import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { becomeFirst, newAccount } from "../fixtures/accounts.ts";
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

// A server of its own: it is killed here. The model outlives it, and says as many words as it may.
let dormouse: Dormouse;
let model: ModelServer;
const words = createTestWords();
test.beforeAll(async () => {
  dormouse = await startDormouse();
  model = await startModelServer({ pace: words });
});
test.afterAll(async () => {
  await dormouse?.stop();
  await model?.stop();
});

test("a server that is killed in mid-answer and started again finishes it, whole and once, in the open page", async ({
  openBrowser,
}) => {
  const page = await openBrowser({ baseURL: dormouse.url });
  await becomeFirst(page, newAccount("Crash Tester"));
  await addProvider(page.request, model);

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
