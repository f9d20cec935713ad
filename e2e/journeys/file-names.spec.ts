import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Page } from "@playwright/test";
import { look, takePictures } from "../fixtures/looks.ts";
import { findSandbox } from "../fixtures/sandbox-view.ts";
import { beginSession, expectTurnsEnded, panel } from "../fixtures/session.ts";
import { mark, rows, takeSnapshot } from "../fixtures/snapshot-page.ts";
import { expect, test } from "../fixtures/test.ts";

/** By what they are shown as. */
const files: Record<string, Buffer> = {
  "caf\\xe9.txt": Buffer.from("caf\xe9.txt", "latin1"),
  "café.txt": Buffer.from("café.txt"),
  "it's 100% #1? a&b+c.txt": Buffer.from("it's 100% #1? a&b+c.txt"),
  '"quoted".txt': Buffer.from('"quoted".txt'),
  "back\\\\slash.txt": Buffer.from("back\\slash.txt"),
  "two\\nlines.txt": Buffer.from("two\nlines.txt"),
  "\\u{202e}txt.exe": Buffer.from("\u202etxt.exe"),
  "\\x20blanks  in  it\\x20": Buffer.from(" blanks  in  it "),
  "--help": Buffer.from("--help"),
  "..dots": Buffer.from("..dots"),
};

const contentOf = (shown: string) => `I am ${shown}`;

async function makeFiles(sessionId: string): Promise<string> {
  const { workspace } = await findSandbox(sessionId);
  const folder = join(workspace, "sessions", sessionId, "outputs", "odd");
  await mkdir(folder);
  for (const [shown, name] of Object.entries(files)) {
    await writeFile(Buffer.concat([Buffer.from(`${folder}/`), name]), contentOf(shown));
  }
  // The sandbox may be another user.
  await chmod(folder, 0o777);
  return folder;
}

const row = (page: Page, shown: string) =>
  panel(page).getByRole("list", { name: "outputs/odd" }).getByRole("button", { name: shown }).first();
const viewer = (page: Page, shown: string) => panel(page).getByRole("region", { name: `outputs/odd/${shown}` });

test("files of any name are opened, downloaded, renamed, deleted and found in a snapshot", async ({
  member: { page },
}) => {
  test.slow();
  const sessionId = await beginSession(page, "make a web page about hazelnuts");
  await expectTurnsEnded(page, 1);
  const folder = await makeFiles(sessionId);
  // Also where one part is shown at a time.
  await panel(page).getByRole("button", { name: "Files", exact: true }).click();
  await panel(page).getByRole("button", { name: "odd", exact: true }).click();
  await expect(row(page, "--help")).toBeVisible();

  for (const shown of Object.keys(files)) {
    await row(page, shown).click();
    await expect(viewer(page, shown)).toContainText(contentOf(shown));
    const link = viewer(page, shown).getByRole("link", { name: /^Download/ });
    const answer = await page.request.get((await link.getAttribute("href")) ?? "");
    expect(await answer.text()).toBe(contentOf(shown));
  }
  await row(page, "caf\\xe9.txt").click();
  await look(page, "file-names");

  const download = page.waitForEvent("download");
  await row(page, "it's 100% #1? a&b+c.txt").click();
  await viewer(page, "it's 100% #1? a&b+c.txt")
    .getByRole("link", { name: /^Download/ })
    .click();
  // What not every disk can have the browser replaces, and nothing else.
  expect((await download).suggestedFilename()).toBe("it's 100% #1_ a&b+c.txt");
  expect(await text(await (await download).createReadStream())).toBe(contentOf("it's 100% #1? a&b+c.txt"));

  // By the keyboard: the two that look alike stay two.
  await row(page, "caf\\xe9.txt").focus();
  await page.keyboard.press("F2");
  const dialog = page.getByRole("dialog", { name: "Rename this file" });
  await expect(dialog.getByLabel("New name")).toBeFocused();
  await expect(dialog.getByLabel("New name")).toHaveValue("caf_.txt");
  await dialog.getByLabel("New name").fill("café.txt");
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("alert")).toContainText("There is already a file or folder outputs/odd/café.txt.");
  await look(page, "file-rename-taken");
  for (const [wrong, words] of [
    ["a/b", "A name cannot contain “/”."],
    ["..", "“..” cannot be a name."],
    ["x".repeat(256), "This name is too long."],
  ] as const) {
    await dialog.getByLabel("New name").fill(wrong);
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText(words);
  }
  await dialog.getByLabel("New name").fill("café (old).txt");
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(row(page, "café (old).txt")).toBeFocused();
  await row(page, "café (old).txt").click();
  await expect(viewer(page, "café (old).txt")).toContainText(contentOf("caf\\xe9.txt"));

  // By the menu.
  await row(page, "two\\nlines.txt").hover();
  await panel(page).getByRole("button", { name: "Actions for two\\nlines.txt" }).click();
  await takePictures(page, "file-actions-*-1440");
  await page.getByRole("menuitem", { name: "Delete" }).click();
  const question = page.getByRole("alertdialog", { name: "Delete this file?" });
  await expect(question).toContainText("two\\nlines.txt will be deleted");
  await look(page, "file-delete");
  await question.getByRole("button", { name: "Delete" }).click();
  await expect(question).toBeHidden();
  await expect(row(page, "two\\nlines.txt")).toBeHidden();
  await expect(panel(page).locator("button:focus")).toHaveCount(1);

  const left = Object.values(files).map((name) => name.toString("latin1"));
  const wanted = left
    .filter((name) => !/\n|^caf\xe9/.test(name))
    .concat(Buffer.from("café (old).txt").toString("latin1"));
  const found = (await readdir(folder, { encoding: "buffer" })).map((name) => name.toString("latin1"));
  expect(found.sort()).toEqual(wanted.sort());

  // A folder, too, and its name is taken up by what is open.
  await panel(page).getByRole("button", { name: "odd", exact: true }).focus();
  await page.keyboard.press("F2");
  await page.getByRole("dialog").getByLabel("New name").fill("odd");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeHidden();

  await mark(page).click();
  await takeSnapshot(page);
  await rows(page).click();
  const snapshot = panel(page).getByRole("region", { name: "Snapshot" });
  await snapshot.getByRole("button", { name: "odd", exact: true }).click();
  await row(page, "\\u{202e}txt.exe").click();
  await expect(viewer(page, "\\u{202e}txt.exe")).toContainText(contentOf("\\u{202e}txt.exe"));
  await look(page, "file-names-snapshot");
});
