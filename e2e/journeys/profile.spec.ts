import { signIn } from "../fixtures/accounts.ts";
import { expect, test } from "../fixtures/test.ts";

test("a new name is saved and shown in the frame", async ({ member: { page } }) => {
  await page.goto("/settings/profile");
  await page.getByLabel("Name", { exact: true }).fill("");
  await page.getByRole("button", { name: "Save name" }).click();
  await expect(page.getByText("Enter your name.")).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill("Renamed Mouse");
  await page.getByRole("button", { name: "Save name" }).click();
  await expect(page.getByText("Name saved.")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Renamed Mouse/ })).toBeVisible();
});

test("a changed password ends the other devices, and only the new one works", async ({
  member: { account, page },
  login,
}) => {
  const other = await login(account);
  await page.goto("/settings/profile");
  const next = "an even better sentence";
  await page.getByLabel("Current password").fill("not my password");
  await page.getByLabel("New password").fill(next);
  await page.getByRole("button", { name: "Change password" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "The current password is wrong." })).toBeVisible();

  await page.getByLabel("Current password").fill(account.password);
  await page.getByRole("button", { name: "Change password" }).click();
  await expect(page.getByText("Password changed.")).toBeVisible();
  await expect(page.getByLabel("Current password")).toHaveValue("");

  await other.reload();
  await expect(other.getByText("You have been signed out.")).toBeVisible();
  await signIn(other, account);
  await expect(other.getByRole("alert").filter({ hasText: "Email or password is wrong." })).toBeVisible();
  await signIn(other, { ...account, password: next });
  await expect(other.getByRole("heading", { name: `Hello, ${account.name}` })).toBeVisible();
});

test("another device can be ended", async ({ member: { account, page }, login }) => {
  const other = await login(account);
  await page.goto("/settings/profile");
  const devices = page.getByRole("region", { name: "Signed-in devices" });
  await expect(devices.getByRole("listitem")).toHaveCount(2);
  await expect(devices.getByText("This device")).toHaveCount(1);
  await devices.getByRole("button", { name: /^Sign out of/ }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await expect(devices.getByRole("listitem")).toHaveCount(1);
  await other.goto("/settings/profile");
  await expect(other.getByText("You have been signed out.")).toBeVisible();
});

test("a chosen theme stays after a reload, without the other one flashing", async ({ userPage: page }) => {
  await page.goto("/settings/profile");
  const html = page.locator("html");
  const appearance = page.getByRole("region", { name: "Appearance" });
  await expect(html).toHaveAttribute("data-theme", "light");
  await appearance.getByText("Dark").click();
  await expect(html).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(html).toHaveAttribute("data-theme", "dark");
  await expect(page.getByRole("radio", { name: "Dark" })).toBeChecked();

  // Without React: what sets the theme runs before the first paint.
  await page.route(/\/_next\/static\/.*\.js/, (route) => route.abort());
  await page.goto("/settings/profile", { waitUntil: "commit" });
  await expect(html).toHaveAttribute("data-theme", "dark");
  await page.unroute(/\/_next\/static\/.*\.js/);

  await page.goto("/settings/profile");
  await appearance.getByText("System").click();
  await expect(html).toHaveAttribute("data-theme", "light");
  await page.emulateMedia({ colorScheme: "dark" });
  await expect(html).toHaveAttribute("data-theme", "dark");
});
