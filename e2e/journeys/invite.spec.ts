import { acceptInvite, createInvite, fillPerson, newAccount, signIn, tenantName } from "../fixtures/accounts.ts";
import { expect, test } from "../fixtures/test.ts";

test("an invite makes one account; its second use is refused", async ({ adminPage, openBrowser, baseURL }) => {
  const link = await createInvite(adminPage, { note: "for one" });
  expect(link.startsWith(`${baseURL}/invite/`)).toBe(true);
  const page = await openBrowser();
  await page.goto(link);
  await expect(page.getByRole("heading", { name: `Join ${tenantName}` })).toBeVisible();
  const late = await openBrowser();
  await late.goto(link);

  await acceptInvite(page, link, newAccount("First Comer"));
  await fillPerson(late, newAccount("Second Comer"));
  await late.getByRole("button", { name: "Create account" }).click();
  await expect(late.getByRole("alert").filter({ hasText: "This invite was already used." })).toBeVisible();
  await late.reload();
  await expect(late.getByRole("heading", { name: "This invite was already used" })).toBeVisible();
});

test("an email address can be used once", async ({ adminPage, openBrowser, member }) => {
  const page = await openBrowser();
  await page.goto(await createInvite(adminPage, { note: "same address" }));
  await fillPerson(page, { ...newAccount(), email: member.account.email });
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(
    page.getByRole("alert").filter({ hasText: "An account with that email address already exists" }),
  ).toBeVisible();
});

test("a revoked invite and an unknown one say so", async ({ adminPage, openBrowser }) => {
  const link = await createInvite(adminPage, { note: "to be revoked" });
  const row = adminPage.getByRole("row", { name: /to be revoked/ });
  await row.getByRole("button", { name: "Revoke the invite for to be revoked" }).click();
  await adminPage.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await expect(row.getByText("revoked", { exact: true })).toBeVisible();

  const page = await openBrowser();
  await page.goto(link);
  await expect(page.getByRole("heading", { name: "This invite was revoked" })).toBeVisible();
  await page.goto("/invite/nonsense");
  await expect(page.getByRole("heading", { name: "This invite does not exist" })).toBeVisible();
});

test("a disabled person is out at once and comes back when enabled", async ({ adminPage, member, openBrowser }) => {
  const { account, page } = member;
  await page.goto("/settings/profile");
  await adminPage.goto("/admin/people");
  const row = adminPage.getByRole("row", { name: new RegExp(account.email) });

  await row.getByRole("button", { name: `Disable ${account.name}` }).click();
  const question = adminPage.getByRole("alertdialog", { name: `Disable ${account.name}?` });
  await question.getByRole("button", { name: "Cancel" }).click();
  await expect(question).toBeHidden();
  await expect(row.getByText("active")).toBeVisible();

  await row.getByRole("button", { name: `Disable ${account.name}` }).click();
  await question.getByRole("button", { name: "Disable" }).click();
  await expect(row.getByText("disabled")).toBeVisible();

  await page.getByRole("button", { name: "Save name" }).click();
  await expect(page.getByText("You have been signed out.")).toBeVisible();
  await signIn(page, account);
  await expect(page.getByRole("alert").filter({ hasText: "Email or password is wrong." })).toBeVisible();

  await row.getByRole("button", { name: `Enable ${account.name}` }).click();
  await expect(row.getByText("active")).toBeVisible();
  const again = await openBrowser();
  await again.goto("/sign-in");
  await signIn(again, account);
  await expect(again.getByRole("heading", { name: `Hello, ${account.name}` })).toBeVisible();
});

test("nobody is offered to disable themselves", async ({ adminPage }) => {
  await adminPage.goto("/admin/people");
  const row = adminPage.getByRole("row", { name: /You/ });
  await expect(row).toBeVisible();
  await expect(row.getByRole("button")).toHaveCount(0);
});
