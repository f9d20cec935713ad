import { fillPerson, newAccount } from "../fixtures/accounts.ts";
import { type Dormouse, startDormouse } from "../fixtures/dormouse.ts";
import { expectAccessible, takeScreens } from "../fixtures/looks.ts";
import { expect, test } from "../fixtures/test.ts";

let dormouse: Dormouse;
test.beforeAll(async () => {
  dormouse = await startDormouse({ DORMOUSE_HOST: "0.0.0.0" });
});
test.afterAll(() => dormouse?.stop());

test("reachable from other machines, the first run asks for the code that the terminal shows", async ({ page }) => {
  const account = newAccount("Code Reader");
  await expect.poll(() => dormouse.output()).toContain("Set-up code for the first page:");
  const code = /Set-up code for the first page: (\S+)/.exec(dormouse.output())?.[1] ?? "";
  await page.goto(`${dormouse.url}/`);
  await takeScreens(page, "first-run-set-up-code");
  await expectAccessible(page);

  await page.getByLabel("Organisation").fill("Beyond");
  await fillPerson(page, account);
  const consent = page.getByRole("checkbox", { name: /I agree/ });
  if (await consent.isVisible()) await consent.check();
  await page.getByLabel("Set-up code").fill("AAAA-BBBB-CCCC");
  await page.getByRole("button", { name: "Create the admin account" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "That set-up code is wrong." })).toBeVisible();

  await page.getByLabel("Set-up code").fill(code.toLowerCase());
  await page.getByRole("button", { name: "Create the admin account" }).click();
  await expect(page.getByRole("heading", { name: "Hello, Code Reader" })).toBeVisible();
});
