import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "@playwright/test";
import { type Dormouse, setupCode, startDormouse } from "../fixtures/dormouse.ts";
import { expect, test } from "../fixtures/test.ts";

/**
 * Pages of another origin at a Dormouse that waits for its first run, on loopback, where every page that somebody opens can
 * reach it. Nothing that such a page sends may do anything.
 */
let dormouse: Dormouse;
let foreign: Server;
/** The same machine by another port, which is another origin; of a name, another site. */
let foreignPort = 0;

test.beforeAll(async () => {
  dormouse = await startDormouse();
  foreign = createServer(({ url }, response) => {
    // A page in such a sandbox has the origin "null".
    if (url === "/sandboxed") response.setHeader("content-security-policy", "sandbox allow-forms allow-scripts");
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Elsewhere</title><p>Elsewhere");
  });
  foreign.listen(0, "127.0.0.1");
  await once(foreign, "listening");
  foreignPort = (foreign.address() as AddressInfo).port;
});
test.afterAll(async () => {
  foreign?.close();
  await dormouse?.stop();
});

const account = { name: "Mallory", email: "mallory@example.org", password: "a long enough sentence" };
const firstRun = JSON.stringify({ tenantName: "Taken", ...account, setupCode, hostConsent: true });

async function expectUntouched(): Promise<void> {
  const page = await fetch(`${dormouse.url}/first-run`);
  expect(await page.text()).toContain("Create the first account");
}

/** What became of a request as the page itself sees it: a status, or "blocked" where the browser tells nothing. */
const attempt = (page: Page, url: string, init: RequestInit) =>
  page.evaluate(
    async ([address, options]) => {
      try {
        const response = await fetch(address as string, options as RequestInit);
        return response.type === "opaque" ? "sent" : String(response.status);
      } catch {
        return "blocked";
      }
    },
    [url, init] as const,
  );

/** What the server said to it: pages do not hear of it, the browser does. */
async function statusOf(page: Page, url: string, act: () => Promise<unknown>): Promise<number> {
  const answered = page.waitForResponse((response) => response.url().startsWith(url));
  await act();
  return (await answered).status();
}

for (const host of ["127.0.0.1", "localhost"]) {
  test(`a page at another port of ${host} cannot complete the first run`, async ({ page }) => {
    await page.goto(`http://${host}:${foreignPort}/`);
    const route = `${dormouse.url}/api/v1/first-run`;
    for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
      const init: RequestInit = { method: "POST", mode: "no-cors", body: firstRun, headers: { "content-type": type } };
      expect(await statusOf(page, route, () => attempt(page, route, init)), type).toBe(403);
    }
    const json = { method: "POST", body: firstRun, headers: { "content-type": "application/json" } };
    expect(await attempt(page, route, json)).toBe("blocked");
    expect(await attempt(page, `${dormouse.url}/api/v1/sessions`, { method: "GET" })).toBe("blocked");
    await expectUntouched();
  });
}

test("a form of another page, also one without an origin, reaches neither routes, actions nor the sign-in", async ({
  page,
}) => {
  for (const path of ["/api/v1/first-run", "/api/auth/callback/credentials", "/first-run"]) {
    for (const from of ["/", "/sandboxed"]) {
      await page.goto(`http://127.0.0.1:${foreignPort}${from}`);
      const sent = await statusOf(page, dormouse.url + path, () =>
        page.evaluate(
          ([action, text]) => {
            const form = Object.assign(document.createElement("form"), {
              method: "post",
              enctype: "text/plain",
              action,
            });
            form.append(Object.assign(document.createElement("input"), { name: text }));
            document.body.append(form);
            form.submit();
          },
          [dormouse.url + path, firstRun] as const,
        ),
      );
      expect(sent, `${path} from ${from}`).toBe(403);
      await page.waitForURL(dormouse.url + path);
    }
  }
  await expectUntouched();
});

test("a page of another site opens no socket here", async ({ page }) => {
  await page.goto(`http://localhost:${foreignPort}/`);
  const outcome = await page.evaluate(
    (address) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(address);
        socket.onopen = () => resolve("open");
        socket.onerror = () => resolve("refused");
      }),
    `${dormouse.url.replace("http", "ws")}/_next/webpack-hmr`,
  );
  expect(outcome).toBe("refused");
});

test("links from elsewhere lead in", async ({ page }) => {
  await page.goto(`http://localhost:${foreignPort}/`);
  await page.evaluate((address) => {
    const link = Object.assign(document.createElement("a"), { href: address, textContent: "An invite" });
    document.body.append(link);
  }, `${dormouse.url}/invite/of-nobody`);
  await page.getByRole("link", { name: "An invite" }).click();
  await expect(page.getByRole("heading", { name: "This invite does not exist" })).toBeVisible();
});

test("a name that was made to lead to this machine gets nothing, and one that was configured works", async () => {
  // The browser asks the server itself, by the attacker's name: to it, that page and what it asks for are of one origin.
  const port = new URL(dormouse.url).port;
  const rules = "MAP rebound.example 127.0.0.1,MAP mouse.example 127.0.0.1";
  const browser = await openBrowser([`--host-resolver-rules=${rules}`]);
  const named = await startDormouse({ DORMOUSE_ALLOWED_HOSTS: "mouse.example" });
  try {
    const page = await browser.newPage();
    const answer = await page.goto(`http://rebound.example:${port}/first-run`);
    expect(answer?.status()).toBe(403);
    await expect(page.locator("body")).toContainText("This server does not answer as rebound.example.");
    const own = `http://rebound.example:${port}/api/v1/first-run`;
    const init = { method: "POST", body: firstRun, headers: { "content-type": "application/json" } };
    expect(await attempt(page, own, init)).toBe("403");
    await expectUntouched();

    await page.goto(`http://mouse.example:${new URL(named.url).port}/first-run`);
    await expect(page.getByRole("heading", { name: "Welcome to Dormouse" })).toBeVisible();
    const ours = `http://mouse.example:${new URL(named.url).port}/api/v1/first-run`;
    expect(await attempt(page, ours, init)).toBe("201");
  } finally {
    await browser.close();
    await named.stop();
  }
});

/** As the fixtures' browser, with more arguments: names are looked up by the browser as a whole. */
function openBrowser(more: string[]): Promise<Browser> {
  const { executablePath, args = [] } = (test.info().project.use.launchOptions ?? {}) as {
    executablePath?: string;
    args?: string[];
  };
  return chromium.launch({ ...(executablePath && { executablePath }), args: [...args, ...more] });
}
