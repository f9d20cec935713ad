import { fillPerson, newAccount } from "../fixtures/accounts.ts";
import { type Dormouse, setupCode, startDormouse } from "../fixtures/dormouse.ts";
import { expectAccessible, takeScreens } from "../fixtures/looks.ts";
import { expect, test } from "../fixtures/test.ts";

let dormouse: Dormouse;
test.beforeAll(async () => {
  dormouse = await startDormouse({ DORMOUSE_ISOLATION: "host" });
});
test.afterAll(() => dormouse?.stop());

test("without isolation nothing is set up until the person agrees", async ({ page }) => {
  const submit = page.getByRole("button", { name: "Create the admin account" });
  await page.goto(`${dormouse.url}/first-run`);
  const consent = page.getByRole("checkbox", { name: /I agree that the agent runs as a plain process/ });
  await expect(consent).toBeVisible();
  await takeScreens(page, "first-run-consent");
  await expectAccessible(page);
  await page.getByLabel("Set-up code").fill(setupCode);
  await page.getByLabel("Organisation").fill("Plain");
  await fillPerson(page, newAccount("Plain Person"));
  await submit.click();
  await expect(page.getByRole("alert").filter({ hasText: "Confirm that you agree" })).toBeVisible();
  await expect(page.getByLabel("Organisation")).toHaveValue("Plain");

  await consent.check();
  await submit.click();
  await expect(page.getByRole("heading", { name: "Hello, Plain Person" })).toBeVisible();
});
