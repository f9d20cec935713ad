import type { Page } from "@playwright/test";
import type { LifecycleVerb } from "../../server/protocol/lifecycle-verbs.ts";
import type { SandboxView } from "../../server/protocol/sandbox-views.ts";
import { type Account, admin } from "../fixtures/accounts.ts";
import { look, takeScreens } from "../fixtures/looks.ts";
import { seedSandboxes } from "../fixtures/seed-sandboxes.ts";
import {
  answers,
  beginSession,
  expectTurnsEnded,
  runTurn,
  send,
  transcript,
  turnPatience,
} from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

// Each stands by itself: the workers share them.
test.describe.configure({ mode: "parallel" });

const unknown = "019a9b2e-0000-7000-8000-000000000000";

const field = (page: Page) => page.getByLabel("Message to the agent");
const card = (page: Page) => page.getByRole("article");
const rowOf = (page: Page, { email }: Account) =>
  page.getByRole("region", { name: "All sandboxes" }).getByRole("row").filter({ hasText: email });

async function choose(page: Page, account: Account, verb: string): Promise<void> {
  await rowOf(page, account)
    .getByRole("button", { name: `Actions for the sandbox of ${account.name}` })
    .click();
  await page.getByRole("menuitem", { name: verb, exact: true }).click();
}

test("an admin puts a sandbox to sleep, writing wakes it with its memory, and a reset takes that for good", async ({
  member: { page, account },
  adminPage,
}) => {
  test.slow();
  const sessionId = await beginSession(page, "Remember that my name is Ada Lovelace.");
  await expectTurnsEnded(page, 1);

  await adminPage.goto("/admin/sandboxes");
  await expect(rowOf(adminPage, account)).toContainText("Awake");
  await choose(adminPage, account, "Sleep");
  await expect(rowOf(adminPage, account)).toContainText("Asleep", { timeout: turnPatience });
  await expect(rowOf(adminPage, account)).toContainText("just now");
  // The session's page heard of it.
  await expect(page.getByText("Asleep · wakes when you send")).toBeVisible();

  await page.goto("/settings/sandbox");
  await expect(card(page)).toContainText("Asleep");
  await expect(card(page)).toContainText("Memory savedjust now");
  await expect(card(page).getByRole("button", { name: "Sleep" })).toBeDisabled();
  await look(page, "sandbox-asleep");

  await page.goto(`/sessions/${sessionId}`);
  await field(page).pressSequentially("Wh");
  await expect(page.getByText("Asleep · wakes when you send")).toBeVisible();
  await field(page).pressSequentially("at");
  await expect(page.getByText("Awake", { exact: true })).toBeVisible({ timeout: turnPatience });
  await field(page).pressSequentially(" is my name?");
  await field(page).press("Enter");
  await expect(answers(page).last()).toContainText("Your name is Ada Lovelace", { timeout: turnPatience });
  await expectTurnsEnded(page, 2);

  await page.goto("/settings/sandbox");
  await expect(card(page)).toContainText("Awake");
  await card(page).getByRole("button", { name: "Reset" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Reset this sandbox?" });
  await expect(dialog).toContainText("Kept: transcripts, files and their snapshots.");
  await dialog.getByLabel("Also delete files and snapshots").check();
  await expect(dialog).toContainText("Kept: transcripts only.");
  await expect(dialog.getByRole("button", { name: "Reset and delete files" })).toBeDisabled();
  await look(page, "sandbox-reset");
  await dialog.getByLabel("Also delete files and snapshots").uncheck();
  await dialog.getByRole("button", { name: "Reset", exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect(card(page)).toContainText("Not started", { timeout: turnPatience });
  await expect(card(page)).toContainText("not saved yet");

  await page.goto(`/sessions/${sessionId}`);
  await expect(transcript(page)).toContainText("Your name is Ada Lovelace");
  await expect(transcript(page)).toContainText("The sandbox was reset.");
  await send(page, "What is my name?");
  await expectTurnsEnded(page, 3);
  await expect(answers(page).last()).toContainText("have not told me");
});

test("a person says when their sandbox sleeps, and an admin when all others do", async ({
  member: { page },
  adminPage,
}) => {
  test.slow();
  await runTurn(page, "hello");
  await page.goto("/settings/sandbox");
  await expect(card(page).getByLabel("Sleeps after")).toHaveValue("tenant");
  await card(page).getByLabel("Sleeps after").selectOption("2 hours");
  await expect.poll(async () => (await listOwn(page))[0]?.idle).toEqual({ minutes: 120, own: true });
  await card(page).getByLabel("Keep awake").selectOption("For 4 hours");
  await expect(card(page).getByLabel("Keep awake")).toHaveValue("until");
  await page.reload();
  await expect(card(page).getByLabel("Sleeps after")).toHaveValue("120");
  await card(page).getByLabel("Keep awake").selectOption("Off");
  await expect.poll(async () => (await listOwn(page))[0]?.keepAwakeUntil).toBeNull();

  const limit = "/api/v1/admin/sandboxes/idle-limit";
  await adminPage.goto("/admin/sandboxes");
  await adminPage.getByLabel("Sandboxes sleep after").selectOption("20 minutes");
  try {
    await expect.poll(async () => (await adminPage.request.get(limit)).json()).toEqual({ minutes: 20 });
    await page.reload();
    await expect(card(page).getByRole("option", { name: "Default (20 minutes)" })).toBeAttached();
    expect((await page.request.put(limit, { data: { minutes: 5 } })).status()).toBe(403);
    expect((await adminPage.request.put(limit, { data: { minutes: -5 } })).status()).toBe(400);
  } finally {
    expect((await adminPage.request.put(limit, { data: { minutes: 60 } })).status()).toBe(200);
  }
});

test("sandboxes look right in each of their states", async ({ adminPage: page }) => {
  // Two long pages in four looks, each examined.
  test.slow();
  const remove = await seedSandboxes(admin.email);
  try {
    await page.goto("/admin/sandboxes");
    const table = page.getByRole("region", { name: "All sandboxes" });
    // Other journeys may have woken sandboxes of their own.
    for (const word of ["Awake", "Asleep", "Starting", "Needs attention", "Not started", "Going to sleep"]) {
      await expect(table.getByText(word, { exact: true }).first()).toBeVisible();
    }
    await expect(table.getByRole("row", { name: /Needs attention.*The sidecar did not answer/ })).toBeVisible();
    await expect(table.getByRole("row", { name: /Going to sleep.*Saving memory and files/ })).toBeVisible();
    await expect(table.getByText(/^On this machine only since/).filter({ visible: true })).toHaveCount(1);
    await look(page, "sandboxes-filled");
    const broken = table.getByRole("row", { name: /Needs attention/ });
    await broken.getByRole("button", { name: /^Actions for/ }).click();
    await expect(page.getByRole("menuitem", { name: "Sleep", exact: true })).toHaveAttribute("aria-disabled", "true");
    await page.getByRole("menuitem", { name: "Recover" }).focus();
    // The page goes on following what happens meanwhile.
    for (let looks = 0; looks < 2; looks += 1) await page.waitForResponse(/\/admin\/sandboxes\?_rsc=/);
    await expect(page.getByRole("menuitem", { name: "Recover" })).toBeFocused();
    await takeScreens(page, "sandboxes-menu");
    await page.getByRole("menuitem", { name: "Recover" }).click();
    await expect(page.getByRole("alertdialog", { name: `Recover the sandbox of ${admin.name}?` })).toBeVisible();
    await look(page, "sandboxes-recover");
    await page.keyboard.press("Escape");
    await expect(page.getByRole("alertdialog")).toBeHidden();
    await expect(broken.getByRole("button", { name: /^Actions for/ })).toBeFocused();

    await page.goto("/settings/sandbox");
    await expect(page.getByText("Recover it first. Reset it only if that fails.")).toBeVisible();
    await expect(page.getByText(/is taking longer than it should$/)).toBeVisible();
    await expect(page.getByText(/^On this machine only since/)).toBeVisible();
    await expect(page.getByText(/Sleeping is tried again in \d+ min/)).toBeVisible();
    await look(page, "sandbox-states");
  } finally {
    await remove();
  }
});

test("programs do the same: asked for, polled, refused in words, and out of reach of others", async ({
  member: { page },
  userPage,
  adminPage,
}) => {
  test.slow();
  await runTurn(page, "hello");
  const [sandbox] = await listOwn(page);
  const id = sandbox?.id ?? "";
  const ask = (who: Page, verb: string, { base = "/api/v1/sandboxes", of = id } = {}) =>
    who.request.post(`${base}/${of}/${verb}`, { data: {} });
  const adminBase = "/api/v1/admin/sandboxes";

  async function succeeds(who: Page, verb: LifecycleVerb, base = "/api/v1/sandboxes"): Promise<void> {
    const answer = await ask(who, verb, { base });
    expect(answer.status(), await answer.text()).toBe(202);
    const { operation } = await answer.json();
    expect(operation).toMatchObject({ verb, reason: "asked" });
    const read = async () =>
      (await (await who.request.get(`${base}/${id}/operations/${operation.id}`)).json()).operation;
    await expect.poll(async () => (await read()).state, { timeout: turnPatience }).toBe("succeeded");
    expect((await who.request.get(`${base}/${id}/operations/${unknown}`)).status()).toBe(404);
  }

  await succeeds(page, "sleep");
  const refused = await ask(page, "sleep");
  expect(refused.status()).toBe(409);
  expect((await refused.json()).error).toMatchObject({
    kind: "conflict",
    message: "This sandbox is asleep, so it cannot go to sleep now.",
  });

  for (const answer of [
    await ask(page, "wake", { of: unknown }),
    await ask(page, "wake", { of: "nonsense" }),
    await ask(page, "fly"),
    await ask(userPage, "wake"),
    await ask(adminPage, "wake"),
    await ask(adminPage, "wake", { base: adminBase, of: unknown }),
  ]) {
    expect(answer.status(), answer.url()).toBe(404);
  }
  expect((await listOwn(userPage)).map((one) => one.id)).not.toContain(id);
  for (const answer of [await ask(page, "wake", { base: adminBase }), await page.request.get(adminBase)]) {
    expect(answer.status(), answer.url()).toBe(403);
  }
  await succeeds(adminPage, "wake", adminBase);
  await succeeds(page, "restart-agent");
});

async function listOwn(page: Page): Promise<SandboxView[]> {
  const answer = await page.request.get("/api/v1/sandboxes");
  expect(answer.status()).toBe(200);
  return ((await answer.json()) as { sandboxes: SandboxView[] }).sandboxes;
}
