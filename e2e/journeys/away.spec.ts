import { look } from "../fixtures/looks.ts";
import { seedAway } from "../fixtures/seed-away.ts";
import {
  answers,
  beginSession,
  expectTurnsEnded,
  hasEnded,
  newSession,
  panel,
  readLog,
  runTurn,
  send,
  shellOutput,
  stopButton,
  transcript,
  turnPatience,
} from "../fixtures/session.ts";
import { mark, takeSnapshot } from "../fixtures/snapshot-page.ts";
import { expect, test } from "../fixtures/test.ts";

test("a session whose machine is away says so, keeps what is sent, continues from its snapshot, and can be stopped", async ({
  adminPage,
  member: { account, page },
}) => {
  test.slow();
  const sessionId = await beginSession(page, "run `echo saved > story.txt`");
  await expectTurnsEnded(page, 1);
  await mark(page).click();
  await takeSnapshot(page);
  await send(page, "run `echo later > story.txt`");
  await expectTurnsEnded(page, 2);
  const said = await answers(page).allInnerTexts();
  await seedAway(sessionId, { machine: "attic-workstation", isAway: true });

  const notice = page
    .getByRole("status")
    .filter({ hasText: "This session is on attic-workstation, which has been away since" });
  await expect(notice).toContainText("Messages you send wait until it is back.");
  await expect(page.getByText("Waiting for attic-workstation")).toBeVisible();
  await send(page, "run `cat story.txt`");
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("run `cat story.txt`");
  await expect(panel(page).getByRole("button", { name: "Snapshot now" })).toBeDisabled();
  await panel(page).getByRole("button", { name: "Files" }).click();
  await expect(panel(page).getByText("They are on attic-workstation.")).toBeVisible();
  // Where it is narrow, that has hidden the transcript.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "Transcript" }).click();
  await page.setViewportSize({ width: 1440, height: 900 });
  await look(page, "away");
  await page.reload();
  await expect(answers(page)).toHaveText(said, { useInnerText: true });
  await expect(page.getByRole("list", { name: "Queue" })).toContainText("run `cat story.txt`");

  await adminPage.goto("/admin/sandboxes");
  await expect(adminPage.getByRole("row").filter({ hasText: account.email })).toContainText(
    "attic-workstation away, last seen 4 min ago",
  );
  await look(adminPage, "sandboxes-away");

  await notice.getByRole("button", { name: "Continue here from the snapshot" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Continue without attic-workstation?" });
  await expect(dialog).toContainText("Changes made since then stay on attic-workstation");
  await look(page, "away-continue");
  await dialog.getByRole("button", { name: "Continue here" }).click();
  await expect(dialog).toBeHidden();
  await expect(notice).toBeHidden();
  await expectTurnsEnded(page, 3);
  expect(shellOutput(await readLog(page, sessionId, hasEnded(3))).trim()).toBe("saved");
  await expect(page.getByRole("button", { name: "Memory rebuilt from the transcript" })).toBeVisible();
  await look(page, "away-continued");
  await send(page, "run `echo here > story.txt; cat story.txt`");
  await expectTurnsEnded(page, 4);
  await expect(transcript(page)).toContainText("here");

  await send(page, "run `sleep 300`");
  await expect(transcript(page).getByRole("button", { name: /^Running/ })).toBeVisible({ timeout: turnPatience });
  await seedAway(sessionId, { machine: "shed-workstation", isAway: true });
  await expect(page.getByText("Waiting for shed-workstation")).toBeVisible();
  await stopButton(page).click();
  await expect(transcript(page).getByText("It is on shed-workstation, which is away.")).toBeVisible();
  await expect(stopButton(page)).toBeHidden();
  await look(page, "away-stopped");
});

test("a program continues a session here only while its machine is away, and as often as it likes", async ({
  member: { page },
}) => {
  const { id } = await runTurn(page, "my name is Ada");
  const post = async (sessionId: string) => {
    const answer = await page.request.post(`/api/v1/sessions/${sessionId}/continue-here`);
    return { status: answer.status(), body: await answer.json() };
  };
  const continued = { status: 200, body: { continued: true } };
  // Here already, or nowhere yet.
  expect(await post(id)).toEqual(continued);
  expect(await post(await newSession(page))).toEqual(continued);

  await seedAway(id, { machine: "cellar", isAway: false });
  expect(await post(id)).toMatchObject({
    status: 409,
    body: { error: { kind: "conflict", message: "cellar is back: the session goes on there." } },
  });
  await seedAway(id, { machine: "cellar", isAway: true });
  for (const round of [1, 2]) expect(await post(id), `round ${round}`).toEqual(continued);
  expect((await runTurn(page, "what is my name?", id)).session?.sandbox).toMatchObject({
    state: "running",
    away: null,
  });

  for (const unknown of [crypto.randomUUID(), "nothing"]) {
    expect(await post(unknown)).toMatchObject({ status: 404, body: { error: { kind: "not-found" } } });
  }
});
