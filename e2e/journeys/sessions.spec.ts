import { expect, test } from "../fixtures/test.ts";

const narrow = { width: 390, height: 844 };

test("a new session is opened, listed and nobody else's", async ({ member: { page }, adminPage }) => {
  await page.goto("/");
  await page.getByRole("button", { name: "New session" }).click();
  await expect(page).toHaveURL(/\/sessions\/[0-9a-f-]{36}$/);
  await expect(page.getByRole("heading", { name: "New session" })).toBeVisible();
  const listed = page.getByRole("navigation", { name: "Sessions" }).getByRole("link");
  await expect(listed).toHaveCount(1);
  await expect(listed).toHaveAttribute("aria-current", "page");

  const answer = await adminPage.goto(page.url());
  expect(answer?.status()).toBe(404);
  await expect(adminPage.getByRole("heading", { name: "There is nothing here" })).toBeVisible();
});

test("on a narrow screen the list is a sheet that closes when it has led somewhere", async ({ userPage: page }) => {
  await page.setViewportSize(narrow);
  await page.goto("/");
  await expect(page.getByRole("navigation", { name: "Sessions" })).toBeHidden();
  const opener = page.getByRole("button", { name: "Open the session list" });
  await opener.click();
  const sheet = page.getByRole("dialog", { name: "Sessions and settings" });
  await expect(sheet).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(sheet).toBeHidden();
  await expect(opener).toBeFocused();

  await opener.click();
  await sheet.getByRole("button", { name: "New session" }).click();
  await expect(page).toHaveURL(/\/sessions\//);
  await expect(sheet).toBeHidden();
  await opener.click();
  await sheet.getByRole("link", { name: "Settings" }).click();
  await expect(page.getByRole("heading", { name: "Settings" })).toBeVisible();
  await expect(sheet).toBeHidden();
});

test("admin pages do not exist for users", async ({ userPage: page }) => {
  await page.goto("/");
  await expect(page.getByRole("link", { name: "Settings" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Admin" })).toHaveCount(0);
  for (const path of ["/admin", "/admin/sandboxes", "/admin/people"]) {
    const answer = await page.goto(path);
    expect(answer?.status(), path).toBe(404);
    await expect(page.getByRole("heading", { name: "There is nothing here" })).toBeVisible();
  }
});
