import { admin, fillPerson, newAccount, tenantName } from "../fixtures/accounts.ts";
import { type Dormouse, setupCode, startDormouse } from "../fixtures/dormouse.ts";
import { expectAccessible, takeScreens } from "../fixtures/looks.ts";
import { expect, test } from "../fixtures/test.ts";

const submit = "Create the admin account";

// A server of its own: it happens once.
let dormouse: Dormouse;
test.beforeAll(async () => {
  dormouse = await startDormouse();
});
test.afterAll(() => dormouse?.stop());
test.describe.configure({ mode: "serial" });

test("a first visit leads to the first-run page, which names the isolation and says what is missing", async ({
  openBrowser,
}) => {
  const page = await openBrowser({ baseURL: dormouse.url });
  await page.goto("/settings/models");
  await expect(page).toHaveURL(/\/first-run$/);
  await expect(page.getByText(/Agents are (not isolated|sandboxed) on this machine/)).toBeVisible();
  await takeScreens(page, "first-run");
  await expectAccessible(page);

  await page.getByRole("button", { name: submit }).click();
  await expect(page.getByText("Enter the set-up code.")).toBeVisible();
  await expect(page.getByText("Enter a name for the organisation.")).toBeVisible();
  await expect(page.getByText("Enter an email address.")).toBeVisible();
  await expect(page.getByLabel("Set-up code")).toBeFocused();

  await fillPerson(page, { ...admin, email: "no address", password: "short" });
  await page.getByRole("button", { name: submit }).click();
  await expect(page.getByText("That does not look like an email address.")).toBeVisible();
  await expect(page.getByText("A password needs at least 12 characters.")).toBeVisible();
  await takeScreens(page, "first-run-problems");
});

test("the first run makes the admin and signs them in; a second one is refused", async ({ openBrowser }) => {
  const page = await openBrowser({ baseURL: dormouse.url });
  const late = await openBrowser({ baseURL: dormouse.url });
  await late.goto("/first-run");
  await page.goto("/first-run");
  for (const [candidate, account] of [[page, admin] as const, [late, newAccount("Too Late")] as const]) {
    await candidate.getByLabel("Set-up code").fill(setupCode);
    await candidate.getByLabel("Organisation").fill(tenantName);
    await fillPerson(candidate, account);
    const consent = candidate.getByRole("checkbox", { name: /I agree/ });
    if (await consent.isVisible()) await consent.check();
  }

  await page.getByRole("button", { name: submit }).click();
  await expect(page.getByRole("heading", { name: `Hello, ${admin.name}` })).toBeVisible();
  await page.goto("/admin/sandboxes");
  await expect(page.getByText("No sandboxes yet")).toBeVisible();

  await late.getByRole("button", { name: submit }).click();
  await expect(late.getByRole("alert").filter({ hasText: "Dormouse is already set up" })).toBeVisible();

  await late.goto("/first-run");
  await expect(late.getByRole("heading", { name: "Dormouse is already set up" })).toBeVisible();
  await takeScreens(late, "first-run-done");
  await expectAccessible(late);
  await late.getByRole("link", { name: "Go to sign-in" }).click();
  await expect(late.getByRole("heading", { name: "Sign in" })).toBeVisible();
});
