import { newAccount, signIn, signOut } from "../fixtures/accounts.ts";
import { expect, test } from "../fixtures/test.ts";

test("a wrong password is refused in plain words, the right one leads to where the person wanted to go", async ({
  member: { account },
  openBrowser,
}) => {
  const page = await openBrowser();
  await page.goto("/settings/models");
  await expect(page).toHaveURL("/sign-in?next=%2Fsettings%2Fmodels");
  await signIn(page, { ...account, password: "not the password" });
  await expect(page.getByRole("alert").filter({ hasText: "Email or password is wrong." })).toBeVisible();
  await expect(page.getByLabel("Email")).toHaveValue(account.email);
  await signIn(page, account);
  await expect(page).toHaveURL("/settings/models");
});

test("signing in leads to this site only", async ({ member: { account }, openBrowser }) => {
  const page = await openBrowser();
  await page.goto(`/sign-in?next=${encodeURIComponent("//example.com/steal")}`);
  await signIn(page, account);
  await expect(page.getByRole("heading", { name: `Hello, ${account.name}` })).toBeVisible();
  await expect(page).toHaveURL("/");
});

test("after signing out a copy of the cookie is worth nothing", async ({ member: { account }, login, openBrowser }) => {
  const page = await login(account);
  const copy = await openBrowser({ storageState: await page.context().storageState() });
  await copy.goto("/settings/profile");
  await expect(copy.getByRole("heading", { name: "Settings" })).toBeVisible();

  await signOut(page, account);
  await expect(page.getByText("You have been signed out.")).toBeHidden();
  expect((await page.context().cookies()).filter(({ name }) => name.includes("session-token"))).toEqual([]);
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  await copy.reload();
  await expect(copy.getByText("You have been signed out.")).toBeVisible();
  await expect(copy).toHaveURL("/sign-in?next=%2Fsettings%2Fprofile");
});

test("a forged sign-in leads to the sign-in page", async ({ openBrowser, baseURL }) => {
  const page = await openBrowser();
  await page.context().addCookies([{ name: "next-auth.session-token", value: "forged", url: baseURL ?? "" }]);
  await page.goto("/settings/profile");
  await expect(page.getByText("You have been signed out.")).toBeVisible();
});

test("a button pressed after the sign-in has ended leads to the sign-in page and back", async ({
  member: { account, page },
}) => {
  await page.goto("/settings/profile");
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Save name" }).click();
  await expect(page).toHaveURL("/sign-in?next=%2Fsettings%2Fprofile");
  await signIn(page, account);
  await expect(page).toHaveURL("/settings/profile");
});

test("somebody signed in is not asked again", async ({ userPage: page }) => {
  await page.goto("/sign-in?next=/settings/profile");
  await expect(page).toHaveURL("/settings/profile");
});

test("the keyboard alone suffices to sign in and to sign out", async ({ member: { account }, openBrowser }) => {
  const page = await openBrowser();
  await page.goto("/sign-in");
  await expect(page.getByRole("button", { name: "Sign in" })).toBeEnabled();
  await page.keyboard.press("Tab");
  await expect(page.getByLabel("Email")).toBeFocused();
  await page.keyboard.type(account.email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(account.password);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: `Hello, ${account.name}` })).toBeVisible();

  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  // The page is there a moment before it listens to keys.
  await expect(async () => {
    await page.getByRole("button", { name: new RegExp(`^${account.name} .* Profile and sign-out`) }).focus();
    await page.keyboard.press("Enter");
    await expect(page.getByRole("menuitem", { name: "Profile" })).toBeFocused({ timeout: 2_000 });
  }).toPass({ timeout: 20_000 });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("guessing is bounded, and the page says how long to wait", async ({ openBrowser }) => {
  const page = await openBrowser();
  const { email } = newAccount();
  await page.goto("/sign-in");
  for (let attempt = 1; attempt <= 10; attempt++) {
    const answered = page.waitForResponse(/callback\/credentials/);
    await signIn(page, { email, password: `wrong ${attempt}` });
    await answered;
    await expect(page.getByRole("alert").filter({ hasText: "Email or password is wrong." })).toBeVisible();
  }
  await signIn(page, { email, password: "wrong 11" });
  await expect(page.getByRole("alert").filter({ hasText: /Too many attempts\. Wait \d+ minutes/ })).toBeVisible();
});
