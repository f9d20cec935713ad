import { failNextSnapshot, forgetSnapshots } from "../fixtures/broken-snapshots.ts";
import { look } from "../fixtures/looks.ts";
import { beginSession, expectTurnsEnded, panel, send } from "../fixtures/session.ts";
import { mark, rows, takeSnapshot } from "../fixtures/snapshot-page.ts";
import { expect, test } from "../fixtures/test.ts";

// Each stands by itself: the workers share them.
test.describe.configure({ mode: "parallel" });

const pageFile = "outputs/index.html";

test("files are saved, looked into, changed and put back", async ({ member: { page } }) => {
  test.slow();
  await beginSession(page, "make a web page about hazelnuts");
  await expectTurnsEnded(page, 1);
  await send(
    page,
    "run `mkdir -p node_modules/leaf .cache src && echo 1 > node_modules/leaf/a.js && echo 2 > src/b.ts`",
  );
  await expectTurnsEnded(page, 2);
  await expect(mark(page)).toHaveText(/^Not saved yet/);
  await mark(page).click();
  await expect(panel(page).getByText("No snapshots yet")).toBeVisible();
  await look(page, "snapshots-empty");
  await takeSnapshot(page);
  await expect(mark(page)).toHaveText(/^Saved just now/);

  await rows(page).click();
  const view = panel(page).getByRole("region", { name: "Snapshot" });
  await expect(view.getByRole("button", { name: "Back to all snapshots" })).toBeFocused();
  await view.getByText(".cache and node_modules are left out; they can be regenerated.").click();
  await expect(view.getByRole("list", { name: "Left out" }).getByText("can be regenerated")).toHaveCount(2);
  await view.getByRole("button", { name: /^src/ }).click();
  await expect(view.getByRole("button", { name: /^b\.ts/ })).toBeVisible();
  await view.getByRole("button", { name: /^index\.html/ }).click();
  const file = view.getByRole("region", { name: pageFile });
  await expect(file).toContainText("--accent: #b45309");
  await look(page, "snapshot-view");

  const link = await file.getByRole("link", { name: "Download index.html" }).getAttribute("href");
  const answer = await page.request.get(link ?? "");
  expect(await answer.text()).toContain("--accent: #b45309");
  expect(answer.headers()).toMatchObject({
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="index.html"; filename*=UTF-8''index.html`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
  });
  const other = await page.request.get((link ?? "").replace(encodeURIComponent(pageFile), "..%2Fmanifest.json"));
  expect(other.status()).toBe(404);
  const download = page.waitForEvent("download");
  await view.getByRole("link", { name: "Download the whole snapshot" }).click();
  expect((await download).suggestedFilename()).toMatch(/^workspace-.*\.tar\.gz$/);

  await send(page, "change the colour to teal");
  await expectTurnsEnded(page, 3);
  await expect(file).toContainText("--accent: #b45309");
  await view.getByRole("button", { name: "Restore" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Restore this snapshot?" });
  await expect(dialog).toContainText("The current files are saved in a snapshot first");
  await look(page, "snapshot-restore");
  await dialog.getByRole("button", { name: "Restore" }).click();
  await expect(page.getByText("Snapshot restored. The files are back as they were.")).toBeVisible();
  await expect(dialog).toBeHidden();
  await panel(page).getByRole("button", { name: "Files" }).click();
  await panel(page)
    .getByRole("button", { name: /^index\.html/ })
    .click();
  await expect(panel(page).getByRole("region", { name: pageFile })).toContainText("--accent: #b45309");

  await panel(page).getByRole("button", { name: "Snapshots" }).click();
  await expect(rows(page)).toHaveCount(2);
  await look(page, "snapshots");
  await rows(page).first().click();
  await view.getByRole("button", { name: /^index\.html/ }).click();
  await expect(view.getByRole("region", { name: pageFile })).toContainText("--accent: teal");
  await page.keyboard.press("Tab");
  await view.getByRole("button", { name: "Back to all snapshots" }).focus();
  await page.keyboard.press("Enter");
  await expect(rows(page).first()).toBeFocused();
});

test("what cannot be saved, restored or shown is said where it matters", async ({ member: { page } }) => {
  test.slow();
  const sessionId = await beginSession(page, "make a web page about acorns");
  await expectTurnsEnded(page, 1);
  await mark(page).click();
  await takeSnapshot(page);

  const tooMuch =
    "The workspace is 5 GB, over the limit of 4 GB for an archive. Largest: outputs/a-recording-of-the-night.wav (3.8 GB), outputs/data.csv (858.3 MB).";
  const seen = Promise.withResolvers<void>();
  await page.route(/\/restore$/, async (route) => {
    await seen.promise;
    const error = { kind: "conflict", message: `The current files could not be saved first. ${tooMuch}` };
    await route.fulfill({ status: 409, json: { error } });
  });
  await panel(page).getByRole("button", { name: "Restore" }).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByRole("button", { name: "Restore" }).click();
  await expect(dialog.getByRole("status")).toHaveText("Restoring …");
  seen.resolve();
  await expect(dialog.getByRole("alert")).toContainText("The snapshot was not restored");
  await expect(dialog.getByRole("alert")).toContainText("outputs/data.csv (858.3 MB)");
  await look(page, "snapshot-restore-failed");
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await failNextSnapshot(sessionId, tooMuch);
  await page.reload();
  await expect(mark(page)).toHaveText(/^Not saved · The workspace is/);
  await mark(page).click();
  await expect(panel(page).getByText("outputs/data.csv (858.3 MB)")).toBeVisible();
  await look(page, "snapshots-failed");

  await forgetSnapshots(sessionId);
  await rows(page).click();
  await expect(panel(page).getByText("This snapshot cannot be shown")).toBeVisible();
  await look(page, "snapshot-gone");
  await panel(page).getByRole("button", { name: "All snapshots", exact: true }).click();
  await expect(panel(page).getByRole("button", { name: "Snapshot now" })).toBeVisible();
});
