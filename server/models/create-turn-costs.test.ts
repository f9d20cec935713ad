import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { Agent } from "undici";
import { afterAll, beforeAll, expect, it } from "vitest";
import { adminInput, createTestAccounts, type TestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "../auth/index.ts";
import { createSecretBox } from "../lib/secret-box.ts";
import { unknownDetails } from "../protocol/model-details.ts";
import { createModels } from "./create-models.ts";
import { createTurnCosts } from "./create-turn-costs.ts";
import { demoProviderId, type Models, type TurnCosts } from "./index.ts";
import { createTestCatalogue } from "./test-catalogue.ts";

let test: TestAccounts;
let admin: Viewer;
let models: Models;
let costs: TurnCosts;
let anthropic: string;
const logger = pino({ level: "silent" });
const catalogue = createTestCatalogue();

beforeAll(async () => {
  test = await createTestAccounts();
  await test.accounts.completeFirstRun(adminInput);
  admin = await test.signIn(adminInput.email);
  const secretBox = createSecretBox(Buffer.alloc(32, 1));
  models = createModels({ database: test.database, secretBox, outbound: new Agent(), catalogue });
  costs = createTurnCosts({ database: test.database, catalogue, logger });
  ({ id: anthropic } = await models.addProvider(admin, { kind: "anthropic", name: "Anthropic", key: "k" }));
  await models.chooseModels(admin, anthropic, [
    { id: "claude-9", name: "Claude", enabled: true },
    { id: "private", name: "Private", enabled: true },
  ]);
});
afterAll(() => test[Symbol.asyncDispose]());

const tokens = { input: 1_000_000, output: 100_000, reasoning: 100_000, cacheRead: 0, cacheWrite: 0 };
const step = (modelId: string | null, providerId: string | null = anthropic) => ({ tokens, providerId, modelId });

it("adds up the calls of a turn, each by the price of its own model", async () => {
  expect(await costs.costOf(admin, [step("claude-9"), step("claude-9")])).toBe(12);
  expect(await costs.costOf(admin, [step("claude-9"), step("demo", demoProviderId)])).toBe(6);
  expect(await costs.costOf(admin, [step("demo", demoProviderId)])).toBe(0);
  expect(await costs.costOf(admin, [])).toBe(0);
});

it("knows no cost as soon as one call has none", async () => {
  expect(await costs.costOf(admin, [step("claude-9"), step("private")])).toBeNull();
  expect(await costs.costOf(admin, [step("claude-9", randomUUID())])).toBeNull();
  expect(await costs.costOf(admin, [step(null)])).toBeNull();
  expect(await costs.costOf(admin, [step("claude-9", null)])).toBeNull();
});

it("takes an admin's price before the catalogue's, from the next turn's end on", async () => {
  const price = { input: 1, output: 0, cacheRead: null, cacheWrite: null };
  const set = (modelId: string, details: object | null) =>
    models.changeModel(admin, {
      providerId: anthropic,
      modelId,
      details: details && { ...unknownDetails, ...details },
    });
  await set("private", { price });
  expect(await costs.costOf(admin, [step("private")])).toBe(1);
  await set("claude-9", { price });
  expect(await costs.costOf(admin, [step("claude-9")])).toBe(1);
  await set("claude-9", { price: { ...price, output: null } });
  expect(await costs.costOf(admin, [step("claude-9")])).toBeNull();
  await set("claude-9", null);
  expect(await costs.costOf(admin, [step("claude-9")])).toBe(6);
});

it("sees nothing of another tenant, and a database that is away is no reason to fail", async () => {
  expect(await costs.costOf({ ...admin, tenantId: randomUUID() as never }, [step("claude-9")])).toBeNull();
  const away = { ...test.database, transaction: () => Promise.reject(new Error("away")) };
  expect(await createTurnCosts({ database: away, catalogue, logger }).costOf(admin, [step("claude-9")])).toBeNull();
});
