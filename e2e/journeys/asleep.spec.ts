import type { Page } from "@playwright/test";
import { becomeFirst, newAccount } from "../fixtures/accounts.ts";
import { type Dormouse, startDormouse } from "../fixtures/dormouse.ts";
import { look } from "../fixtures/looks.ts";
import { beginSession, expectTurnsEnded, hasEnded, panel, readLog, send, shellOutput } from "../fixtures/session.ts";
import { mark, rows, takeSnapshot } from "../fixtures/snapshot-page.ts";
import { expect, test } from "../fixtures/test.ts";

// A server of its own: it is ended here, and its sandboxes sleep.
let dormouse: Dormouse;
test.beforeAll(async () => {
  dormouse = await startDormouse();
});
test.afterAll(() => dormouse?.stop());

async function askToRestore(page: Page): Promise<void> {
  await panel(page).getByRole("button", { name: "Restore" }).last().click();
  const dialog = page.getByRole("alertdialog", { name: "Restore this snapshot?" });
  await expect(dialog).toContainText("When the sandbox wakes");
  await dialog.getByRole("button", { name: "Restore" }).click();
  await expect(dialog).toBeHidden();
  await expect(mark(page)).toHaveText(/^Restores on wake/);
}

test("snapshots of a sandbox that sleeps are looked into, and one is restored when it wakes", async ({
  openBrowser,
}) => {
  test.slow();
  const page = await openBrowser({ baseURL: dormouse.url });
  await becomeFirst(page, newAccount("Night Watch"));
  const sessionId = await beginSession(page, "run `echo one > story.txt`");
  await expectTurnsEnded(page, 1);
  await mark(page).click();
  await takeSnapshot(page);
  await send(page, "run `echo two > story.txt`");
  await expectTurnsEnded(page, 2);
  await dormouse.end();
  await dormouse.startAgain();
  await page.reload();
  await expect(page.getByText("Asleep · wakes when you send")).toBeVisible();
  await expect(page.getByRole("button", { name: "Memory intact" })).toBeVisible();

  await mark(page).click();
  await expect(panel(page).getByRole("button", { name: "Snapshot now" })).toBeDisabled();
  // The newer one was taken when the server stopped.
  await expect(rows(page)).toHaveCount(2);
  await rows(page).last().click();
  await panel(page)
    .getByRole("button", { name: /^story\.txt/ })
    .click();
  await expect(panel(page).getByRole("region", { name: "story.txt" })).toContainText("one");
  await panel(page).getByRole("button", { name: "Back to all snapshots" }).click();

  await askToRestore(page);
  await expect(panel(page).getByText("restores on wake")).toBeVisible();
  await look(page, "snapshots-asleep");
  await panel(page).getByRole("button", { name: "Cancel restore" }).click();
  await expect(page.getByText("Restore cancelled. The files stay as they are.")).toBeVisible();
  await expect(mark(page)).toHaveText(/^Saved/);
  await askToRestore(page);

  await send(page, "run `cat story.txt`");
  await expectTurnsEnded(page, 3);
  expect(shellOutput(await readLog(page, sessionId, hasEnded(3))).trim()).toBe("one");
  await expect(mark(page)).toHaveText(/^Saved/);
  // What it replaced had been saved when the server stopped.
  await expect(rows(page)).toHaveCount(2);
});
