import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { useProvider } from "../fixtures/providers.ts";
import {
  answers,
  beginSession,
  endsOf,
  expectTurnsEnded,
  hasEnded,
  lastAnswer,
  panel,
  plainWords,
  readLog,
  send,
  shownText,
  stopButton,
  transcript,
  turnPatience,
} from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

// A provider that takes its time, as real ones do.
let model: ModelServer;
let provider: Awaited<ReturnType<typeof useProvider>>;
test.beforeAll(async ({ browser }) => {
  model = await startModelServer({ pace: "human" });
  provider = await useProvider(browser, model);
});
test.afterAll(async () => {
  await provider?.remove();
  await model?.stop();
});

test("a prompt makes a file; the diff and the file are seen at once, and again as they change", async ({
  userPage: page,
}) => {
  const failures: string[] = [];
  page.on("response", (answer) => answer.status() >= 400 && failures.push(`${answer.status()} ${answer.url()}`));
  await beginSession(page, "make a web page about hazelnuts");
  const files = panel(page);
  await expect(files.getByRole("button", { name: /^index\.html/ })).toBeVisible({ timeout: turnPatience });
  await expectTurnsEnded(page, 1);
  await expect(answers(page).last()).toContainText("outputs/index.html");
  await expect(page.getByRole("heading", { name: /hazelnuts/i, level: 1 })).toBeVisible();

  const card = transcript(page).getByRole("button", { name: /^Wrote outputs\/index\.html \+\d+ −0/ });
  await card.click();
  const diff = transcript(page).locator("pre").filter({ hasText: "<h1>Hazelnuts</h1>" });
  await expect(diff).toBeVisible();
  await files.getByRole("button", { name: /^index\.html/ }).click();
  const viewer = page.getByRole("region", { name: "outputs/index.html" });
  await expect(viewer).toContainText("--accent: #b45309");

  await send(page, "change the colour to teal");
  await expect(viewer).toContainText("--accent: teal", { timeout: turnPatience });
  await expectTurnsEnded(page, 2);
  await files.getByRole("button", { name: "Changes" }).click();
  await expect(files.getByRole("button", { name: /outputs\/index\.html \+\d+ −1/ })).toBeVisible();
  await expect(files.getByText("--accent: teal").first()).toBeVisible();
  expect(failures).toEqual([]);
});

test("a reload in mid-answer goes on without gap or repeat, Stop works after it, and the next turn remembers", async ({
  userPage: page,
}) => {
  const sessionId = await beginSession(page, "Remember that my name is Ada Lovelace.");
  await expectTurnsEnded(page, 1);

  await send(page, "write a long text of 250 words");
  await expect(answers(page)).toHaveCount(2, { timeout: turnPatience });
  await expect.poll(async () => (await shownText(page)).split(" ").length).toBeGreaterThan(20);
  await page.reload();
  await expect(stopButton(page)).toBeVisible();
  const seen: string[] = [];
  await expect
    .poll(
      async () => {
        seen.push(await shownText(page));
        return stopButton(page).isVisible();
      },
      { timeout: turnPatience, intervals: [100] },
    )
    .toBe(false);
  const whole = await shownText(page);
  expect(whole.split(" ")).toHaveLength(250);
  expect(whole).toBe(lastAnswer(await readLog(page, sessionId, hasEnded(2))));
  // At each moment it was the beginning of what it became.
  expect(seen.filter((text) => !whole.startsWith(text))).toEqual([]);
  expect(new Set(seen).size).toBeGreaterThan(3);

  await send(page, "write a long text of 5000 words");
  await expect(answers(page)).toHaveCount(3, { timeout: turnPatience });
  await page.reload();
  await stopButton(page).click();
  await expect(transcript(page).getByText(/^Stopped/)).toBeVisible();
  await expect(stopButton(page)).toBeHidden();
  const log = await readLog(page, sessionId, hasEnded(3));
  expect(endsOf(log).map(({ body }) => body)).toMatchObject([
    { outcome: "finished" },
    { outcome: "finished" },
    { outcome: "stopped" },
  ]);
  expect(await shownText(page)).toBe(plainWords(lastAnswer(log)));

  await send(page, "what is my name?");
  await expect(answers(page).last()).toContainText("Your name is Ada Lovelace", { timeout: turnPatience });
});

test("a draft outlives a reload, also when it was written before the page listened", async ({ userPage: page }) => {
  await page.goto("/");
  await page.getByLabel("First message of a new session").fill("half a thought");
  await page.reload();
  await expect(page.getByLabel("First message of a new session")).toHaveValue("half a thought");
  await page.getByLabel("First message of a new session").fill("");

  await page.getByRole("button", { name: "New session" }).click();
  await page.waitForURL(/\/sessions\//);
  const field = page.getByLabel("Message to the agent");
  // Scripts wait until the person has written.
  const written = Promise.withResolvers<void>();
  await page.route(/\/_next\/static\/.*\.js/, async (route) => {
    await written.promise;
    await route.continue();
  });
  await page.reload({ waitUntil: "commit" });
  await field.fill("written early");
  written.resolve();
  await expect(page.getByRole("button", { name: "Send" })).toBeEnabled();
  await expect(field).toHaveValue("written early");
  await page.unroute(/\/_next\/static\/.*\.js/);
  await page.reload();
  await expect(field).toHaveValue("written early");
});
