import { seedLog } from "../fixtures/seed-log.ts";
import { answers, beginSession, expectTurnsEnded, send, transcript } from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

const count = 1_200;

test("a session longer than a page of its log comes back whole, newest first, and goes on", async ({
  member: { page },
}) => {
  test.slow();
  const sessionId = await beginSession(page, "tell me what you remember");
  await expectTurnsEnded(page, 1);
  await seedLog(sessionId, count);

  await page.goto(`/sessions/${sessionId}`);
  await expect(answers(page).last()).toContainText(`Seeded answer ${count}.`);
  await expect(transcript(page).getByText("Seeded answer 1.")).toBeAttached();
  await expect(transcript(page).getByText("tell me what you remember")).toBeAttached();
  await transcript(page)
    .getByRole("button", { name: /Look around/ })
    .click();
  await expect(transcript(page).getByText("Seeded answer 3.", { exact: false })).toBeVisible();
  await send(page, "run `echo still here`");
  await expectTurnsEnded(page, 2);

  const read = async (query: string) => {
    const answer = await page.request.get(`/api/v1/sessions/${sessionId}/entries${query}`);
    expect(answer.status(), await answer.text()).toBe(200);
    return (await answer.json()) as {
      entries: { number: number; under: number | null; children?: number; kind: string }[];
      earlier: number | null;
    };
  };
  const numbers: number[] = [];
  let nested = 0;
  for (let before: number | null = null; ; ) {
    const { entries, earlier } = await read(`?limit=200${before ? `&before=${before}` : ""}`);
    expect(entries.every(({ under }) => under === null)).toBe(true);
    numbers.unshift(...entries.map(({ number }) => number));
    const call = entries.find(({ children }) => children);
    if (call) nested = (await read(`?under=${call.number}`)).entries.length;
    if (earlier === null) break;
    before = earlier;
  }
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  expect(nested).toBe(2);
  expect(numbers.length).toBeGreaterThan(count - 2);
  const damaged = await page.request.get(`/api/v1/sessions/${sessionId}/entries?before=x`);
  expect(await damaged.json()).toMatchObject({ error: { kind: "invalid-input" } });
});
