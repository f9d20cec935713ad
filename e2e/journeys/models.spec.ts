import type { Page } from "@playwright/test";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { expect, test } from "../fixtures/test.ts";

let server: ModelServer;
test.beforeAll(async () => {
  server = await startModelServer();
});
test.afterAll(() => server.stop());

test.beforeEach(async ({ adminPage }) => {
  await adminPage.goto("/settings/models");
});
// Each journey leaves the tenant without providers.
test.afterEach(async ({ adminPage }) => {
  await adminPage.goto("/settings/models");
  const cards = adminPage.getByRole("article");
  // The page is sent in two parts: until the second is shown there are no cards to count.
  await expect(adminPage.getByRole("button", { name: "Add provider" })).toBeVisible();
  for (let left = await cards.count(); left > 0; left--) {
    await cards.first().getByRole("button", { name: "Remove" }).click();
    await adminPage.getByRole("button", { name: "Remove provider" }).click();
    // While it asks, roles are found in the dialog only: no card counts.
    await expect(adminPage.getByRole("alertdialog")).toBeHidden();
    await expect(cards).toHaveCount(left - 1);
  }
});

test("with no provider the page says plainly that a demo answers", async ({ adminPage, userPage }) => {
  await expect(adminPage.getByText("The demo model is in use")).toBeVisible();
  await expect(adminPage.getByText("No provider yet")).toBeVisible();
  await userPage.goto("/settings/models");
  await expect(userPage.getByText("Ask an admin to add a provider for real answers.")).toBeVisible();
  await expect(userPage.getByRole("button", { name: "Add provider" })).toHaveCount(0);
});

test("a provider is added, tested, and one of its models becomes the default", async ({ adminPage, userPage }) => {
  await add(adminPage, { name: "Hazel", baseUrl: server.baseUrl, key: server.key });
  const card = adminPage.getByRole("article", { name: "Hazel" });
  await expect(card.getByText(/Works: 2 models in \d+ ms/)).toBeVisible();
  await expect(card.getByText("key …1234")).toBeVisible();
  await expect(adminPage.locator("body")).not.toContainText(server.key);
  await expect(card.getByText("2 of 2 enabled")).toBeVisible();

  await card.getByRole("checkbox", { name: "hazel-small" }).uncheck();
  await card.getByLabel("Model id").fill("hazel-next");
  await card.getByRole("button", { name: "Add by id" }).click();
  await card.getByRole("button", { name: "Save models" }).click();
  await expect(adminPage.getByText("Models of Hazel saved.")).toBeVisible();

  await adminPage.getByLabel("Default model").selectOption("hazel-large");
  await expect(adminPage.getByText("Default model saved.")).toBeVisible();
  await adminPage.reload();
  await expect(adminPage.getByLabel("Default model").locator("option:checked")).toHaveText("hazel-large");
  await expect(adminPage.getByText("The demo model is in use")).toBeHidden();

  await userPage.goto("/settings/models");
  await expect(userPage.getByText("hazel-large · Hazel")).toBeVisible();
  await expect(userPage.getByText("hazel-next")).toBeVisible();
  await expect(userPage.getByText("hazel-small")).toHaveCount(0);
});

test("an admin sets what a model costs and can take, and takes it back", async ({ adminPage }) => {
  await add(adminPage, { name: "Hazel", baseUrl: server.baseUrl, key: server.key });
  const card = adminPage.getByRole("article", { name: "Hazel" });
  await expect(card.getByText("2 of 2 enabled")).toBeVisible();
  await expect(card.getByText("Price unknown")).toHaveCount(2);

  // What is not saved yet stays so when another model's price is.
  await card.getByRole("checkbox", { name: "hazel-small" }).uncheck();
  await card.getByRole("button", { name: "Prices and limits of hazel-large" }).click();
  const dialog = adminPage.getByRole("dialog", { name: "hazel-large" });
  const price = dialog.getByRole("group", { name: "Price" });
  const limits = dialog.getByRole("group", { name: "Limits" });
  await price.getByLabel("Input").fill("much");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByText("Enter a price such as 2.50.")).toBeVisible();
  await price.getByLabel("Input").fill("2,5");
  await price.getByLabel("Output").fill("10");
  await limits.getByLabel("Context").fill("64000");
  await dialog.getByLabel("Reads images").check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(adminPage.getByText("Prices and limits of hazel-large are saved.")).toBeVisible();
  await expect(dialog).toBeHidden();
  await expect(card.getByText("$2.50 in · $10 out · 64k context")).toBeVisible();
  await expect(card.getByRole("checkbox", { name: "hazel-small" })).not.toBeChecked();

  await adminPage.reload();
  await card.getByRole("button", { name: "Prices and limits of hazel-large" }).click();
  await expect(price.getByLabel("Input")).toHaveValue("2.5");
  await expect(dialog.getByLabel("Reads images")).toBeChecked();
  await dialog.getByRole("button", { name: "Use the catalogue's values" }).click();
  await expect(card.getByText("Price unknown")).toHaveCount(2);
});

test("a wrong key is named as such and can be mended", async ({ adminPage }) => {
  await add(adminPage, { name: "Hazel", baseUrl: server.baseUrl, key: "sk-wrong" });
  const card = adminPage.getByRole("article", { name: "Hazel" });
  await expect(card.getByText("The provider refused the key (HTTP 401).")).toBeVisible();
  await card.getByRole("button", { name: "Edit" }).click();
  await adminPage.getByLabel("Key").fill(server.key);
  await adminPage.getByRole("button", { name: "Save and test" }).click();
  await expect(card.getByText(/Works: 2 models/)).toBeVisible();
});

test("an endpoint that cannot be reached says so", async ({ adminPage }) => {
  const gone = await startModelServer();
  await gone.stop();
  await add(adminPage, { name: "Gone", baseUrl: gone.baseUrl, key: "" });
  const card = adminPage.getByRole("article", { name: "Gone" });
  await expect(card.getByText(/127\.0\.0\.1:\d+ cannot be reached/)).toBeVisible();
});

test("what is missing in the form is said at its field", async ({ adminPage }) => {
  await adminPage.getByRole("button", { name: "Add provider" }).click();
  await adminPage.getByRole("button", { name: "Add and test" }).click();
  await expect(adminPage.getByText("This provider needs a key.")).toBeVisible();
  await expect(adminPage.getByLabel("Key")).toBeFocused();
  await adminPage.getByLabel("Kind").selectOption("openai-compatible");
  await adminPage.getByLabel("Address").fill("not an address");
  await adminPage.getByRole("button", { name: "Add and test" }).click();
  await expect(adminPage.getByText("Enter a name for the provider.")).toBeVisible();
  await expect(adminPage.getByText("The address must begin with http:// or https://.")).toBeVisible();
  await adminPage.keyboard.press("Escape");
  await expect(adminPage.getByRole("dialog")).toBeHidden();
  await expect(adminPage.getByRole("button", { name: "Add provider" })).toBeFocused();
});

async function add(page: Page, provider: { name: string; baseUrl: string; key: string }): Promise<void> {
  await page.getByRole("button", { name: "Add provider" }).click();
  await page.getByLabel("Kind").selectOption("openai-compatible");
  await page.getByLabel("Name").fill(provider.name);
  await page.getByLabel("Address").fill(provider.baseUrl);
  await page.getByLabel("Key").fill(provider.key);
  await page.getByRole("button", { name: "Add and test" }).click();
}
