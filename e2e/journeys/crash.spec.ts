import { becomeFirst, newAccount } from "../fixtures/accounts.ts";
import { type Dormouse, startDormouse } from "../fixtures/dormouse.ts";
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

// A server of its own: it is killed here.
let dormouse: Dormouse;
test.beforeAll(async () => {
  dormouse = await startDormouse({ DORMOUSE_DEMO_PACE: "human" });
});
test.afterAll(() => dormouse?.stop());

test("a server that is killed in mid-answer and started again finishes it, whole and once, in the open page", async ({
  openBrowser,
}) => {
  const page = await openBrowser({ baseURL: dormouse.url });
  await becomeFirst(page, newAccount("Crash Tester"));

  const sessionId = await beginSession(page, "write a long text of 400 words");
  await expect(answers(page)).toHaveCount(1, { timeout: turnPatience });
  await expect.poll(async () => (await shownText(page)).length).toBeGreaterThan(100);
  await dormouse.kill();
  await expect(page.getByText("Connection lost.")).toBeVisible();
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

  await send(page, "run `for i in $(seq 1 12); do echo line $i; sleep 1; done`");
  await readLog(page, sessionId, ({ entries }) => JSON.stringify(entries).includes("line 2\\n"));
  await dormouse.kill();
  await dormouse.startAgain();
  await expectTurnsEnded(page, 2);
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`).join("\\n");
  expect(JSON.stringify(await readLog(page, sessionId, hasEnded(2)))).toContain(lines);

  await send(page, "write a long text of 4000 words");
  await stopButton(page).click();
  await expect(transcript(page).getByText(/^Stopped/)).toBeVisible();
});
