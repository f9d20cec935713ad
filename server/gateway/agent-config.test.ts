import { expect, it, vi } from "vitest";
import { agentConfigHash } from "../agent/index.ts";
import { createTestCatalogue } from "../models/test-catalogue.ts";
import { unknownDetails } from "../protocol/model-details.ts";
import { sidecarOrigin } from "../protocol/sidecar.ts";
import { startTestAgent } from "./test-caller.ts";
import { createTestGateway, startProvider } from "./test-gateway.ts";

vi.setConfig({ testTimeout: 120_000 });

it("lets the real agent call every kind of provider by its own protocol, and shows the person what went wrong", async () => {
  await using test = await createTestGateway();
  const seen: string[] = [];
  await using provider = await startProvider((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers["x-api-key"] ?? request.headers.authorization}`);
    const error = { message: "This key was revoked", type: "authentication_error", code: "invalid_api_key" };
    response
      .writeHead(401, { "content-type": "application/json" })
      .end(JSON.stringify(request.url?.includes("messages") ? { type: "error", error } : { error }));
  });
  const down = await startProvider(() => {});
  await down[Symbol.asyncDispose]();
  const kinds = ["openai", "anthropic", "openai-compatible"] as const;
  const added: string[] = [];
  for (const [index, baseUrl] of [...kinds.map(() => `${provider.url}/v1`), down.url].entries()) {
    const { id } = await test.models.addProvider(test.admin, {
      kind: kinds[index] ?? "anthropic",
      name: `Provider ${index}`,
      baseUrl,
      key: `sk-canary-${index}`,
    });
    await test.models.chooseModels(test.admin, id, [{ id: "some/model-1", name: "One", enabled: true }]);
    added.push(id);
  }
  const limits = { maxContextTokens: 300_000, maxInputTokens: 250_000, maxOutputTokens: 20_000 };
  await test.models.changeModel(test.admin, {
    providerId: added[2] ?? "",
    modelId: "some/model-1",
    details: { ...unknownDetails, ...limits, images: true, pdfs: true, reasoning: true },
  });
  const config = JSON.stringify(await test.gateway.agentConfig(test.person));
  await using agent = await startTestAgent(JSON.parse(config.replaceAll(sidecarOrigin, test.sidecarUrl)));
  const session = await agent.createSession("test");
  const messageBy = async (id: string | undefined) =>
    (await agent.prompt(session, "hello", `${id}/some/model-1`)).at(-1)?.info.error?.data;

  for (const id of added.slice(0, 3)) {
    expect(await messageBy(id)).toMatchObject({ message: "This key was revoked", statusCode: 401 });
  }
  expect(seen).toEqual([
    "POST /v1/responses Bearer sk-canary-0",
    "POST /v1/messages sk-canary-1",
    "POST /v1/chat/completions Bearer sk-canary-2",
  ]);
  // What a model can take is taken over as it was told.
  const told = (await agent.request("/config/providers")) as { providers: { id: string; models: object }[] };
  expect(told.providers.find(({ id }) => id === added[2])?.models).toMatchObject({
    "some/model-1": {
      limit: { context: 300_000, input: 250_000, output: 20_000 },
      capabilities: { reasoning: true, attachment: true, input: { text: true, image: true, pdf: true } },
    },
  });
  // A provider that is down is tried again for a while; meanwhile the reason is shown.
  const trying = agent.prompt(session, "hello", `${added[3]}/some/model-1`);
  await vi.waitFor(
    async () => {
      const status = (await agent.request("/session/status")) as Record<string, { type: string; message?: string }>;
      expect(status[session]?.message).toMatch(/Provider 3.*refused.*Settings → Models/);
    },
    { timeout: 30_000, interval: 100 },
  );
  await agent.request(`/session/${session}/abort`, { method: "POST" });
  await trying;
});

it("tells the agent what it may do by itself: all, what a person allowed, or reading only", async () => {
  await using test = await createTestGateway();
  const permissions = async () => (await test.gateway.agentConfig(test.person)).permission;
  expect(await permissions()).toEqual({ "*": "allow" });
  await test.models.choosePermissions(test.admin, "ask");
  expect(await permissions()).toMatchObject({ "*": "allow", bash: "ask", edit: "ask", webfetch: "ask" });
  await test.models.choosePermissions(test.admin, "deny");
  expect(await permissions()).toMatchObject({ "*": "allow", bash: "deny", edit: "deny" });
  expect((await test.models.settings(test.admin)).permissionPolicy).toBe("deny");
  await expect(test.models.choosePermissions({ ...test.admin, role: "user" }, "allow")).rejects.toMatchObject({
    kind: "forbidden",
  });
});

it("tells the agent what each model can take, and never what it costs", async () => {
  await using test = await createTestGateway({ catalogue: createTestCatalogue() });
  const { id } = await test.models.addProvider(test.admin, { kind: "anthropic", name: "Anthropic", key: "k" });
  const ids = ["claude-9", "unheard-of", "small"];
  await test.models.chooseModels(
    test.admin,
    id,
    ids.map((modelId) => ({ id: modelId, name: modelId, enabled: true })),
  );
  const change = (modelId: string, details: object) =>
    test.models.changeModel(test.admin, { providerId: id, modelId, details: { ...unknownDetails, ...details } });
  await change("small", { maxContextTokens: 8_192, images: true });
  const read = async () => {
    const config = await test.gateway.agentConfig(test.person);
    return { config, models: (config.provider as Record<string, { models: object }>)[id]?.models };
  };

  const before = await read();
  expect(before.models).toEqual({
    "claude-9": {
      name: "claude-9",
      tool_call: true,
      limit: { context: 200_000, output: 32_000 },
      reasoning: true,
      attachment: true,
      modalities: { input: ["text", "image", "pdf"], output: ["text"] },
    },
    "unheard-of": { name: "unheard-of", tool_call: true, limit: { context: 128_000, output: 16_384 } },
    small: {
      name: "small",
      tool_call: true,
      limit: { context: 8_192, output: 2_048 },
      attachment: true,
      modalities: { input: ["text", "image"], output: ["text"] },
    },
  });

  // A changed hash would restart every agent.
  const price = { input: 3, output: 9, cacheRead: 1, cacheWrite: 1 };
  await change("small", { maxContextTokens: 8_192, images: true, price });
  await change("unheard-of", { price });
  expect(agentConfigHash((await read()).config)).toBe(agentConfigHash(before.config));
  await change("unheard-of", { price, maxContextTokens: 64_000, maxInputTokens: 48_000 });
  const after = await read();
  expect(agentConfigHash(after.config)).not.toBe(agentConfigHash(before.config));
  expect(after.models).toMatchObject({ "unheard-of": { limit: { context: 64_000, input: 48_000, output: 16_000 } } });
});
