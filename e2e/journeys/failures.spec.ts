import { expectAccessible, takeScreens } from "../fixtures/looks.ts";
import { expect, test } from "../fixtures/test.ts";

test("an unknown address is a 404 with a way on, signed in or not", async ({ openBrowser, userPage }) => {
  for (const page of [await openBrowser(), userPage]) {
    const answer = await page.goto("/no/such/page");
    expect(answer?.status()).toBe(404);
    await expect(page.getByRole("heading", { name: "There is nothing here" })).toBeVisible();
  }
  await takeScreens(userPage, "not-found");
  await expectAccessible(userPage);
  await userPage.getByRole("link", { name: "Go to the start page" }).click();
  await expect(userPage.getByRole("heading", { name: /^Hello/ })).toBeVisible();
});

test("a call that the network loses is said where it happened, and nothing typed is lost", async ({
  userPage: page,
}) => {
  await page.goto("/settings/profile");
  await page.getByLabel("Name", { exact: true }).fill("Kept Mouse");
  await page.route("**/settings/profile", (route) =>
    route.request().method() === "POST" ? route.abort() : route.continue(),
  );
  await page.getByRole("button", { name: "Save name" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "The server did not answer." })).toBeVisible();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Kept Mouse");
  await page.unroute("**/settings/profile");
  await page.getByRole("button", { name: "Save name" }).click();
  await expect(page.getByText("Name saved.")).toBeVisible();
});

test("a page that fails while it is shown says so and can be tried again", async ({ member: { page } }) => {
  await page.addInitScript(() => {
    const { toISOString } = Date.prototype;
    Date.prototype.toISOString = function () {
      if ("mended" in window) return toISOString.call(this);
      throw new Error("broken for this test");
    };
  });
  await page.goto("/settings/profile");
  await expect(page.getByRole("heading", { name: "Something went wrong on this page" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Settings" })).toBeVisible();
  await takeScreens(page, "error");
  await page.evaluate(() => Object.assign(window, { mended: true }));
  await expectAccessible(page);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("region", { name: "Signed-in devices" })).toBeVisible();
});
