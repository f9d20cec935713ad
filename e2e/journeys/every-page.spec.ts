import { createInvite } from "../fixtures/accounts.ts";
import { expectAccessible, look, takePictures, takeScreens } from "../fixtures/looks.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import {
  beginSession,
  expectTurnsEnded,
  panel,
  send,
  stopButton,
  transcript,
  turnPatience,
} from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

// Each stands by itself: the workers share them.
test.describe.configure({ mode: "parallel" });

test("pages before signing in look right in both themes and sizes", async ({ openBrowser, adminPage }) => {
  const page = await openBrowser();
  await page.goto("/sign-in");
  await look(page, "sign-in");
  await page.goto(await createInvite(adminPage, { note: "for the screens" }));
  await look(page, "invite");
  await page.goto("/invite/nonsense");
  await look(page, "invite-unknown");
});

test("pages of a user look right in both themes and sizes", async ({ userPage: page }) => {
  await page.goto("/");
  await look(page, "home");
  await page.getByRole("button", { name: "New session" }).click();
  await expect(page.getByText("What shall we make?")).toBeVisible();
  await look(page, "session");
  await page.goto("/settings/profile");
  await look(page, "profile");
  await page.goto("/settings/models");
  await look(page, "models-user");
  await page.goto("/settings/sandbox");
  await look(page, "sandbox-settings");
});

test("a session looks right in each of its states", async ({ member: { page } }) => {
  // Six states in four looks, each examined.
  test.slow();
  await beginSession(page, "make a web page about dormice in winter");
  await expect(page.getByText("Waking", { exact: true })).toBeVisible();
  await takeScreens(page, "session-waking");
  await expectTurnsEnded(page, 1);
  await send(page, "change the colour to teal");
  await expectTurnsEnded(page, 2);
  await transcript(page)
    .getByRole("button", { name: /^Edited/ })
    .click();
  await panel(page)
    .getByRole("button", { name: /^index\.html/ })
    .click();
  await expect(panel(page).getByText("--accent: teal")).toBeVisible();
  await look(page, "session-done");
  await panel(page).getByRole("button", { name: "Changes" }).click();
  await look(page, "session-changes");
  await panel(page).getByRole("button", { name: "Files" }).click();
  // Where it is narrow, the same choice has hidden the transcript.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "Transcript" }).click();
  await page.setViewportSize({ width: 1440, height: 900 });

  await send(page, "make a todo list and work through it");
  await expectTurnsEnded(page, 3);
  await send(page, "run a slow command for 60 seconds");
  await expect(transcript(page).getByRole("button", { name: /^Running/ })).toBeVisible({ timeout: turnPatience });
  await transcript(page)
    .getByRole("button", { name: /^Running/ })
    .click();
  await expect(transcript(page).getByText("line 2 of 120")).toBeVisible();
  await send(page, "and then tell me what you remember");
  await expect(page.getByRole("list", { name: "Queue" })).toBeVisible();
  await look(page, "session-working");
  await page.getByRole("button", { name: /^Remove from the queue/ }).click();
  await stopButton(page).click();
  await expect(transcript(page).getByText(/^Stopped/)).toBeVisible();
  await look(page, "session-stopped");

  await send(page, "ask me a question");
  await expect(page.getByRole("region", { name: "Question from the agent" })).toBeVisible({ timeout: turnPatience });
  await look(page, "session-question");
  await page.getByRole("button", { name: /^Moss/ }).click();
  await expect(transcript(page).getByText("You chose Moss.")).toBeVisible({ timeout: turnPatience });
  await send(page, "fail with 401");
  await expect(transcript(page).getByText("The turn failed")).toBeVisible({ timeout: turnPatience });
  await look(page, "session-failed");
  await page.getByRole("button", { name: "Memory intact" }).click();
  await expect(page.getByText("The agent remembers this conversation.")).toBeVisible();
  await look(page, "session-memory");
});

test("pages of an admin look right in both themes and sizes", async ({ adminPage: page }) => {
  await page.goto("/admin/sandboxes");
  await look(page, "sandboxes");
  await createInvite(page, { note: "somebody with a rather long note" });
  await look(page, "people");
  await page.getByRole("button", { name: "Invite somebody" }).click();
  await look(page, "people-invite");
  await page.getByRole("button", { name: "Create invite" }).click();
  await expect(page.getByLabel("Invite link")).toBeVisible();
  await look(page, "people-invite-link");
});

test("the models page looks right, empty and filled", async ({ adminPage: page }) => {
  const server = await startModelServer({
    models: ["hazel-large", "hazel-small", "hazel-embedding-with-a-long-name-2026-11-17"],
  });
  try {
    await page.goto("/settings/models");
    await look(page, "models-empty");
    await page.getByRole("button", { name: "Add provider" }).click();
    await look(page, "models-add");
    await page.getByLabel("Kind").selectOption("openai-compatible");
    await page.getByLabel("Name").fill("Hazel");
    await page.getByLabel("Address").fill(server.baseUrl);
    await page.getByLabel("Key").fill(server.key);
    await page.getByRole("button", { name: "Add and test" }).click();
    await expect(page.getByText(/Works: 3 models/)).toBeVisible();
    await look(page, "models");
    await page.getByRole("button", { name: "Remove" }).click();
    await look(page, "models-remove");
    await page.getByRole("button", { name: "Remove provider" }).click();
    await expect(page.getByText("No provider yet")).toBeVisible();
  } finally {
    await server.stop();
  }
});

test("the sheet looks right on a narrow screen", async ({ userPage: page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/");
  await page.getByRole("button", { name: "Open the session list" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  await expectAccessible(page);
  await takePictures(page, "sheet-*-390");
});
