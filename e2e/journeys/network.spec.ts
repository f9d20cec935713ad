import { look } from "../fixtures/looks.ts";
import { runTurn, shellOutput } from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

// The rule is the whole organisation's: each journey leaves it as it was.
test.afterEach(async ({ adminPage }) => {
  const answer = await adminPage.request.put("/api/v1/admin/network", { data: { rule: "public", hosts: [] } });
  expect(answer.status()).toBe(200);
});

test("an admin lists the hosts that agents can reach, and everyone sees the list", async ({ adminPage, userPage }) => {
  await adminPage.goto("/settings/network");
  await expect(adminPage.getByRole("radio", { name: /^All public addresses/ })).toBeChecked();
  await adminPage.getByRole("radio", { name: /^Only these hosts/ }).check();
  const hosts = adminPage.getByLabel("Allowed hosts");
  await expect(adminPage.getByText("While the list is empty, agents can reach nothing.")).toBeVisible();
  await hosts.fill("packages.example.com\nhttps://example.org/path");
  await adminPage.getByRole("button", { name: "Save" }).click();
  await expect(adminPage.getByRole("form").getByRole("alert")).toContainText(
    "“https://example.org/path” is not a host name.",
  );
  await look(adminPage, "network-refused");
  await hosts.fill("Packages.Example.com\n*.example.org, packages.example.com");
  await adminPage.getByRole("button", { name: "Save" }).click();
  await expect(adminPage.getByText("Saved. New connections follow these rules within 5 seconds.")).toBeVisible();
  await expect(hosts).toHaveValue("packages.example.com\n*.example.org");
  await adminPage.reload();
  await expect(hosts).toHaveValue("packages.example.com\n*.example.org");
  await look(adminPage, "network-listed");

  await userPage.goto("/settings/network");
  await expect(userPage.getByRole("list", { name: "Allowed hosts" }).getByRole("listitem")).toHaveText([
    "packages.example.com",
    "*.example.org",
  ]);
  await expect(userPage.getByRole("button", { name: "Save" })).toHaveCount(0);
  await look(userPage, "network-user");
  expect((await userPage.request.get("/api/v1/admin/network")).status()).toBe(403);
});

test("what is not on the list is refused to the agent's commands, with the way to change it", async ({
  adminPage,
  userPage,
}) => {
  const change = await adminPage.request.put("/api/v1/admin/network", {
    data: { rule: "listed", hosts: ["*.invalid"] },
  });
  expect(await change.json()).toEqual({ rule: "listed", hosts: ["*.invalid"] });
  await userPage.goto("/");
  const ask = (host: string) => `curl -sv -m 20 https://${host}/ 2>&1 | grep -a '^< HTTP'`;
  const turn = await runTurn(userPage, `run \`\`\`\n${ask("example.com")}\n${ask("listed.invalid")}\ntrue\n\`\`\``);
  const [refused, listed] = shellOutput(turn).trim().split("\n");
  expect(refused).toContain(
    "403 Forbidden: example.com is not on your organisation's list of allowed hosts. An admin can add it in Settings > Network.",
  );
  expect(listed).toMatch(/ 50[24] /);
});
