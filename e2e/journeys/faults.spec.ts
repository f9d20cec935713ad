import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { causes } from "../../server/protocol/causes.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { useProvider } from "../fixtures/providers.ts";
import { findSandbox } from "../fixtures/sandbox-view.ts";
import {
  answers,
  beginSession,
  endsOf,
  expectTurnsEnded,
  hasEnded,
  newSession,
  readLog,
  runTurn,
  send,
  stopButton,
  transcript,
  turnPatience,
} from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

// Each stands by itself: the workers share them.
test.describe.configure({ mode: "parallel" });

const failure = "The turn failed";

test("an empty message cannot be sent, one of 1 MB is refused in words, and nothing typed is lost", async ({
  userPage: page,
}) => {
  await page.goto("/");
  const sessionId = await newSession(page);
  await page.goto(`/sessions/${sessionId}`);
  const field = page.getByLabel("Message to the agent");
  const sendButton = page.getByRole("button", { name: "Send" });
  await expect(sendButton).toBeDisabled();
  await field.fill("  \n ");
  await field.press("Enter");
  await expect(sendButton).toBeDisabled();
  const long = "0123456789 abcde\n".repeat(64 * 1024);
  await field.fill("read this: ");
  await field.evaluate((element, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, long);
  await expect(page.getByText("This message is 1088 KB. The limit is 256 KB.")).toBeVisible();
  await expect(field).toHaveValue("read this: ");
  await expect(transcript(page).getByRole("article", { name: "Prompt" })).toHaveCount(0);

  const post = (data: object) => page.request.post(`/api/v1/sessions/${sessionId}/turns`, { data });
  const idempotencyKey = crypto.randomUUID();
  for (const [data, status, kind] of [
    [{ prompt: " ", idempotencyKey }, 400, "invalid-input"],
    [{ idempotencyKey }, 400, "invalid-input"],
    [{ prompt: "hello" }, 400, "invalid-input"],
    [{ prompt: long, idempotencyKey }, 413, "too-large"],
    [{ prompt: "a".repeat(300 * 1024), idempotencyKey }, 413, "too-large"],
  ] as const) {
    const answer = await post(data);
    expect(answer.status()).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { kind, message: expect.stringMatching(/^[A-Z].*\.$/) } });
  }
  expect(await (await page.request.get(`/api/v1/sessions/${sessionId}/turns`)).json()).toEqual({
    turns: [],
    earlier: null,
  });
});

test("a session that is unknown, or another person's, is not there: neither page nor API", async ({
  userPage,
  adminPage,
}) => {
  await userPage.goto("/");
  const theirs = await newSession(userPage);
  for (const id of [theirs, crypto.randomUUID(), "no-id"]) {
    const answer = await adminPage.goto(`/sessions/${id}`);
    expect(answer?.status()).toBe(404);
    await expect(adminPage.getByRole("heading", { name: "There is nothing here" })).toBeVisible();
    const at = `/api/v1/sessions/${id}`;
    const data = { prompt: "hello", idempotencyKey: "key", title: "mine" };
    for (const [method, path] of [
      ["GET", at],
      ["PATCH", at],
      ["DELETE", at],
      ["GET", `${at}/turns`],
      ["POST", `${at}/turns`],
      ["GET", `${at}/queue`],
      ["POST", `${at}/stop`],
      ["GET", `${at}/events`],
      ["GET", `${at}/files?path=`],
      ["GET", `${at}/files/content?path=a`],
    ] as const) {
      const refusal = await adminPage.request.fetch(path, { method, ...(method !== "GET" && { data }) });
      expect(refusal.status(), `${method} ${path}`).toBe(404);
      expect(await refusal.json()).toMatchObject({ error: { kind: "not-found" } });
    }
  }
  expect((await userPage.request.get(`/api/v1/sessions/${theirs}`)).status()).toBe(200);
});

test("a wrong key is named as such in the turn, and the next turn works once it is right", async ({
  browser,
  userPage: page,
}) => {
  const model = await startModelServer();
  const provider = await useProvider(browser, { ...model, key: "sk-wrong" });
  try {
    await beginSession(page, "remember that my name is Ada");
    await expect(transcript(page).getByText(failure)).toBeVisible({ timeout: turnPatience });
    await expect(transcript(page).getByText("Check the provider's key in Settings → Models")).toBeVisible();
    expect(model.asked()).toBe(0);
    await provider.change({ key: model.key });
    await send(page, "my name is Ada");
    await expect(answers(page).last()).toContainText("I will remember that", { timeout: turnPatience });
  } finally {
    await provider.remove();
    await model.stop();
  }
});

test("a provider that is down is named while the agent tries again, and Stop ends the waiting", async ({
  browser,
  userPage: page,
}) => {
  const model = await startModelServer();
  const provider = await useProvider(browser, model);
  await model.stop();
  try {
    await beginSession(page, "remember that my name is Ada");
    await expect(transcript(page).getByText(/The provider “Hazel” .* is not running/)).toBeVisible({
      timeout: turnPatience,
    });
    await expect(transcript(page).getByText(/Trying again/)).toBeVisible();
    await stopButton(page).click();
    await expect(transcript(page).getByText(/^Stopped/)).toBeVisible();
  } finally {
    await provider.remove();
  }
});

test("changed models reach the agent once it is idle, without harm to the turn that runs", async ({
  browser,
  userPage: page,
}) => {
  const model = await startModelServer();
  const sessionId = await beginSession(
    page,
    "run `echo line $((0+1)); until [ -e go ]; do sleep 0.1; done; echo line $((5+1))`",
  );
  await expect(stopButton(page)).toBeVisible();
  await readLog(page, sessionId, ({ entries }) => JSON.stringify(entries).includes("line 1"));
  const provider = await useProvider(browser, model);
  try {
    const { workspace } = await findSandbox(sessionId);
    await writeFile(join(workspace, "sessions", sessionId, "go"), "");
    const log = await readLog(page, sessionId, hasEnded(1));
    expect(endsOf(log).map(({ body }) => body)).toMatchObject([{ outcome: "finished" }]);
    expect(JSON.stringify(log.entries)).toContain("line 6");
    expect(model.asked()).toBe(0);
    await send(page, "my name is Bo");
    await expectTurnsEnded(page, 2);
    expect(model.asked()).toBeGreaterThan(0);
    await expect(transcript(page).getByText(/hazel-large$/)).toBeVisible();
  } finally {
    await provider.remove();
    await model.stop();
  }
});

test("an agent that is killed in mid-turn ends it as failed with the cause, and the next turn works", async ({
  userPage: page,
}) => {
  await beginSession(page, "run `echo before; kill -9 $PPID`");
  await expect(transcript(page).getByText(failure)).toBeVisible({ timeout: turnPatience });
  await expect(transcript(page).getByText(causes["agent-ended"].message)).toBeVisible();
  await expect(stopButton(page)).toBeHidden();
  await send(page, "my name is Bo");
  await expect(answers(page).last()).toContainText("I will remember that", { timeout: turnPatience });
});

test("a sidecar that is killed ends the turn as failed, and the next turn wakes another sandbox", async ({
  userPage: page,
}) => {
  await page.goto("/");
  const { id } = await runTurn(page, "run `echo kept > outputs/kept.txt`");
  await page.goto(`/sessions/${id}`);
  await send(page, "run `kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 30`");
  await expect(transcript(page).getByText(failure)).toBeVisible({ timeout: turnPatience });
  await expect(stopButton(page)).toBeHidden();
  await send(page, "run `cat outputs/kept.txt`");
  await expect(answers(page).last()).toContainText("kept", { timeout: turnPatience });
});
