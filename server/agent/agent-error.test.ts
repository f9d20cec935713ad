import { describe, expect, test } from "vitest";
import { AppError } from "../errors.ts";
import { causes, providerCause } from "../protocol/causes.ts";
import { createAgentError, failureOfError } from "./agent-error.ts";
import { failureOfAgent } from "./agent-failure.ts";

const answer = (status: number, body: string, headers = {}) =>
  createAgentError({ what: "accept the prompt", status, headers, body });

describe("what a turn says about an error", () => {
  test("has opencode's status as its code, its words and its request id", () => {
    const body = JSON.stringify({ name: "UnknownError", data: { message: "Out of order", ref: "err_1" } });
    expect(failureOfError(answer(500, body))).toEqual({
      code: "500",
      message: "The agent could not accept the prompt. It said: “Out of order”. Try again in a moment.",
      requestId: "err_1",
    });
    expect(failureOfError(answer(502, "", { "x-request-id": "req_2" }))).toMatchObject({ requestId: "req_2" });
  });

  test("has a code for what is no answer", () => {
    expect(failureOfError(new AppError("timeout", "Too late.")).code).toBe("timeout");
    expect(failureOfError(new AppError("unavailable", "Away.")).code).toBe("agent-error");
    const cut = new AppError("unavailable", "Away for good.", { code: "stream-error" });
    expect(failureOfError(cut)).toEqual({ code: "stream-error", message: "Away for good." });
    expect(failureOfError(new Error("socket 17 at 10.0.0.3"))).toEqual({
      code: "internal",
      message: causes.internal.message,
    });
  });

  test("takes at most 200 characters of a body, and of its first line only", () => {
    const long = `${"x".repeat(5_000)}\n    at secret (file.ts:1:1)`;
    expect(failureOfError(answer(500, long)).message).toContain(`“${"x".repeat(200)}”`);
    const ofProvider = { name: "APIError", data: { statusCode: 500, message: long } };
    expect(failureOfAgent(ofProvider).message).toBe(providerCause(500, "x".repeat(200)));
  });

  test.each([401, 402, 403, 404, 408, 413, 422, 429, 500, 503, 529])(
    "says what a provider's %i means, and what it said",
    (statusCode) => {
      const body = JSON.stringify({ error: { message: "Not like this.", type: "t", code: "c" } });
      const error = { name: "APIError", data: { statusCode, message: "Not like this.", responseBody: body } };
      const { message, code } = failureOfAgent(error);
      expect(code).toBe(String(statusCode));
      expect(message).toMatch(/^The model's provider .*\. It said: “Not like this”\.$/);
    },
  );

  test("adds nothing to what Dormouse itself refused in a provider's place", () => {
    const { message } = causes["access-disabled"];
    const body = JSON.stringify({ error: { message, type: "t", code: "c", by: "dormouse" } });
    const error = { name: "APIError", data: { statusCode: 401, message, responseBody: body } };
    expect(failureOfAgent(error)).toMatchObject({ code: "401", message });
  });

  test("is nothing where the sidecar says that another server has taken over", () => {
    const body = JSON.stringify({ error: { kind: "conflict", message: "Taken over.", code: "lease-superseded" } });
    expect(answer(409, body)).toMatchObject({ kind: "conflict", refusal: "lease-superseded" });
  });

  test("is the sidecar's own fault by name while the agent is frozen", () => {
    const frozen = JSON.stringify({ error: { kind: "unavailable", message: "Frozen.", code: "agent-frozen" } });
    expect(answer(503, frozen)).toMatchObject({ fault: "agent-frozen", ...causes["agent-frozen"] });
  });
});
