import { describe, expect, test } from "vitest";
import { causes, providerCause, withoutAdvice } from "./causes.ts";

const statuses = [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529];
const sentences = [
  ...Object.entries(causes).map(([name, { message }]) => [name, message] as const),
  ...statuses.map((status) => [`provider ${status}`, providerCause(status, "")] as const),
];

describe.each(sentences)("the words for %s", (_name, message) => {
  test("are whole sentences and no more than a few", () => {
    expect(message).toMatch(/^[A-Z][^.]*\. ?.*\.$/);
    expect(message.length).toBeLessThan(280);
  });

  test("name nothing that a person does not know", () => {
    expect(message).not.toMatch(/[A-Z]{3}|\d{3}/);
    expect(message).not.toMatch(/opencode|sidecar|undici|postgres|socket|gateway/i);
  });

  test("say what happened also where nobody has to do anything", () => {
    expect(withoutAdvice(message)).toMatch(/^[A-Z].*\.$/);
    expect(withoutAdvice(message)).not.toMatch(/(^|\. )(Try|Send your message) again/);
  });

  test("say what to do", () => {
    expect(message).toMatch(
      /Try again|Send your message again|[Aa]n admin (has to|should|can|finds)|Choose|Check|choose/,
    );
  });
});

test("a provider's own words are shown as its own", () => {
  expect(providerCause(429, "Slow down.")).toMatch(/limiting requests.* It said: “Slow down”\.$/);
  expect(providerCause(429, " ")).not.toContain("said");
});
