import { queueHead, queueLimits } from "../../server/protocol/limits.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { useProvider } from "../fixtures/providers.ts";
import { beginSession, newSession, stopButton, turnPatience } from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

test("a long queue shows its head, opens to all of it, and takes no more than it can hold", async ({
  browser,
  userPage: page,
}) => {
  const model = await startModelServer({ pace: "human" });
  const provider = await useProvider(browser, model);
  let at: string | null = null;
  try {
    const sessionId = await beginSession(page, "write a long text of 5000 words");
    await expect(stopButton(page)).toBeVisible({ timeout: turnPatience });
    at = `/api/v1/sessions/${sessionId}`;
    const post = (prompt: string, idempotencyKey: string = crypto.randomUUID()) =>
      page.request.post(`${at}/turns`, { data: { prompt, idempotencyKey } });
    const long = `message 2 ${"and more words ".repeat(60)}to the end`;
    for (let number = 1; number <= 20; number++) {
      expect((await post(number === 2 ? long : `message ${number}`, `key ${number}`)).status()).toBe(202);
    }
    const queue = page.getByRole("list", { name: "Queue" });
    await expect(queue.getByRole("listitem")).toHaveCount(queueHead.turns + 1);
    await queue.getByRole("button", { name: `and ${20 - queueHead.turns} more` }).click();
    await expect(queue.getByRole("listitem")).toHaveCount(20);
    await expect(queue.getByRole("listitem").last()).toContainText("message 20");
    await queue.getByRole("button", { name: "Remove from the queue: message 20" }).click();
    await expect(queue.getByRole("listitem")).toHaveCount(19);
    // What is shown of it is cut; what is edited is not.
    await queue.getByRole("button", { name: /^Edit: message 2 and/ }).click();
    await expect(page.getByLabel("Queued message")).toHaveValue(long);
    await page.getByRole("button", { name: "Cancel" }).click();

    const again = await post("other words", "key 3");
    expect(again.status()).toBe(422);
    expect(await again.json()).toMatchObject({ error: { kind: "key-reused" } });
    const compact = await page.request.post(`${at}/compact`, { headers: { "idempotency-key": "key 3" } });
    expect(compact.status()).toBe(422);
    for (const key of ["broken \ud800", "broken \udbff"]) expect((await post("words", key)).status()).toBe(400);
    const { turns } = (await (await page.request.get(`${at}/turns?limit=3`)).json()) as { turns: { id: string }[] };
    const data = { prompt: "never stored", before: crypto.randomUUID() };
    const change = await page.request.patch(`${at}/turns/${turns[0]?.id}`, { data });
    expect(change.status()).toBe(409);
    expect(await (await page.request.get(`${at}/turns?limit=3`)).json()).toMatchObject({ turns });

    for (let number = 20; number <= queueLimits.maxTurns; number++) {
      expect((await post(`message ${number}`)).status()).toBe(202);
    }
    await page.getByLabel("Message to the agent").fill("one more");
    await page.getByLabel("Message to the agent").press("Enter");
    await expect(page.getByText("This message was not sent")).toBeVisible();
    await expect(page.getByText("The queue of this session is full")).toBeVisible();
  } finally {
    // The agent would be at work for all that waits while the journeys after this one want it.
    if (at) expect((await page.request.delete(at)).status()).toBe(204);
    await provider.remove();
    await model.stop();
  }
});

test("a connection for too many sessions is refused, and the answer names the limit", async ({ userPage: page }) => {
  await page.goto("/");
  const ids = [await newSession(page), ...Array.from({ length: 50 }, () => crypto.randomUUID())];
  const answer = await page.request.get(`/api/v1/events?follow=${ids.join(",")}`);
  expect(answer.status()).toBe(400);
  expect(await answer.json()).toMatchObject({
    error: { kind: "invalid-input", message: expect.stringContaining("at most 50 sessions") },
  });
});
