import type { Page, Request } from "@playwright/test";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { useProvider } from "../fixtures/providers.ts";
import {
  answers,
  beginSession,
  expectTurnsEnded,
  hasEnded,
  lastAnswer,
  readLog,
  send,
  shownText,
  turnPatience,
} from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

let model: ModelServer;
let provider: Awaited<ReturnType<typeof useProvider>>;
test.beforeAll(async ({ browser }) => {
  model = await startModelServer({ pace: "human" });
  provider = await useProvider(browser, model);
});
test.afterAll(async () => {
  await provider?.remove();
  await model?.stop();
});

test("eight tabs stream one answer over one connection, and the end of the tab that holds it loses nothing", async ({
  userPage: page,
}) => {
  const context = page.context();
  const streams = new Map<Request, Page>();
  // Nobody tells of the end of a request whose tab is closed.
  const open = () => [...streams.values()].filter((tab) => !tab.isClosed());
  let most = 0;
  context.on("request", (request) => {
    if (!isEvents(request)) return;
    streams.set(request, request.frame().page());
    most = Math.max(most, open().length);
  });
  context.on("requestfinished", (request) => streams.delete(request));
  context.on("requestfailed", (request) => streams.delete(request));

  const sessionId = await beginSession(page, "Remember that my name is Bo.");
  await expectTurnsEnded(page, 1);
  const tabs: Page[] = [page];
  while (tabs.length < 8) tabs.push(await context.newPage());
  await Promise.all(tabs.slice(1).map((tab) => tab.goto(`/sessions/${sessionId}`)));
  for (const tab of tabs) await expect(answers(tab)).toHaveCount(1);

  await send(tabs[3] ?? page, "write a long text of 400 words");
  for (const tab of tabs) await expect(answers(tab)).toHaveCount(2, { timeout: turnPatience });
  await expect.poll(open).toHaveLength(1);
  const [leader] = open();
  expect(tabs).toContain(leader);
  await leader?.close();
  const left = tabs.filter((tab) => tab !== leader);
  const [one] = left as [Page];
  const log = await readLog(one, sessionId, hasEnded(2));
  const said = lastAnswer(log);
  expect(said.split(" ")).toHaveLength(400);
  for (const tab of left) {
    await expectTurnsEnded(tab, 2);
    expect(await shownText(tab)).toBe(said);
  }
  // A stream that is opened anew may overlap the one before it for a moment.
  expect(most).toBeLessThanOrEqual(2);
  await expect.poll(open).toHaveLength(1);
});

const isEvents = (request: Request) => new URL(request.url()).pathname === "/api/v1/events";
