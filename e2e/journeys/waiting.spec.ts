import { expectAccessible, takeScreens } from "../fixtures/looks.ts";
import { findSandbox, secretsOf } from "../fixtures/sandbox-view.ts";
import {
  answers,
  beginSession,
  expectTurnsEnded,
  send,
  stopButton,
  transcript,
  turnPatience,
} from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

test("a message that cannot be handed to the agent says why it waits, can be tried now, and is answered", async ({
  member: { page },
}) => {
  test.setTimeout(240_000);
  const sessionId = await beginSession(page, "my name is Ada");
  await expectTurnsEnded(page, 1);
  const { processes } = await findSandbox(sessionId);
  const agent = processes().find((pid) => secretsOf(pid).includes("serve\0--hostname"));
  if (!agent) throw new Error("There is no agent.");

  const notice = transcript(page).getByText("The agent cannot be reached.", { exact: true });
  process.kill(agent, "SIGSTOP");
  try {
    await send(page, "what is my name?");
    await expect(notice).toBeVisible({ timeout: turnPatience });
    await expect(transcript(page).getByText(/Trying again (in \d|now)/)).toBeVisible();
    await expect(page.getByText("Waiting to try again")).toBeVisible();
    await takeScreens(page, "waiting");
    await expectAccessible(page);
    await page.reload();
    await expect(notice).toBeVisible();
    await transcript(page).getByRole("button", { name: "Try now" }).click();
  } finally {
    process.kill(agent, "SIGCONT");
  }
  await expectTurnsEnded(page, 2);
  await expect(notice).toBeHidden();
  await expect(answers(page).last()).toContainText("Your name is Ada");
  // From here on all that the server asks of the agent before a prompt is known: the next one is sent at once.
  await send(page, "my name is Cy");
  await expectTurnsEnded(page, 3);

  process.kill(agent, "SIGSTOP");
  try {
    await send(page, "my name is Bo");
    await expect(notice).toBeVisible({ timeout: turnPatience });
    await transcript(page).getByRole("button", { name: "Stop" }).click();
    await expect(transcript(page).getByText("The agent could not be told to stop")).toBeVisible({
      timeout: turnPatience,
    });
    await takeScreens(page, "untold");
    await expectAccessible(page);
    await expect(stopButton(page)).toBeHidden();
  } finally {
    process.kill(agent, "SIGCONT");
  }
  await send(page, "what is my name?");
  await expect(answers(page).last()).toContainText("Your name is", { timeout: turnPatience });
});
