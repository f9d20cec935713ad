import { fillPerson, newAccount } from "../fixtures/accounts.ts";
import { type Dormouse, startDormouse } from "../fixtures/dormouse.ts";
import { expectAccessible, takeScreens } from "../fixtures/looks.ts";
import { expect, test } from "../fixtures/test.ts";

let dormouse: Dormouse;
test.beforeAll(async () => {
  dormouse = await startDormouse({ DORMOUSE_SETUP_CODE: "" });
});
test.afterAll(() => dormouse?.stop());
test.describe.configure({ mode: "serial" });

test("a program needs the code as well", async ({ request }) => {
  const data = { tenantName: "T", ...newAccount(), hostConsent: true };
  const status = async (more: object) =>
    (await request.post(`${dormouse.url}/api/v1/first-run`, { data: { ...data, ...more } })).status();
  expect([await status({}), await status({ setupCode: "AAAA-BBBB-CCCC" })]).toEqual([400, 403]);
});

test("the address in the terminal brings the set-up code along, and the address bar does not keep it", async ({
  page,
}) => {
  const address = /ready at (\S+)/.exec(dormouse.output())?.[1] ?? "";
  const [, code = ""] = /\/first-run#code=([A-Z2-9-]{14})$/.exec(address) ?? [];
  expect(code).not.toBe("");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url() + (request.postData() ?? "")));
  await page.goto(address);
  await expect(page.getByLabel("Set-up code")).toHaveValue(code);
  await expect(page).toHaveURL(`${dormouse.url}/first-run`);
  expect(asked.filter((text) => text.includes(code))).toEqual([]);

  // Somebody who comes without it, and opens the address in the page that they have.
  const other = await page.context().newPage();
  await other.goto(`${dormouse.url}/`);
  await expect(other.getByLabel("Set-up code")).toHaveValue("");
  await takeScreens(other, "first-run-set-up-code");
  await expectAccessible(other);
  await other.goto(`${dormouse.url}/first-run`);
  await other.evaluate((hash) => window.location.assign(hash), `#code=${code}`);
  await expect(other.getByLabel("Set-up code")).toHaveValue(code);
  await expect(other).toHaveURL(`${dormouse.url}/first-run`);
  await other.close();

  await page.getByLabel("Organisation").fill("Beyond");
  await fillPerson(page, newAccount("Code Reader"));
  const consent = page.getByRole("checkbox", { name: /I agree/ });
  if (await consent.isVisible()) await consent.check();
  await page.getByLabel("Set-up code").fill("AAAA-BBBB-CCCC");
  await page.getByRole("button", { name: "Create the admin account" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "That set-up code is wrong." })).toBeVisible();

  await page.getByLabel("Set-up code").fill(code.toLowerCase());
  await page.getByRole("button", { name: "Create the admin account" }).click();
  await expect(page.getByRole("heading", { name: "Hello, Code Reader" })).toBeVisible();
  expect(dormouse.output().split(code)).toHaveLength(2);
});
