import { expect, test } from "vitest";
import { AppError } from "../errors.ts";
import { translate } from "./sidecar-answer.ts";

test("what the server gave up fails with its reason, whatever the connection says", () => {
  const reason = new AppError("unavailable", "The server is stopping.");
  const closed = new Error("The client is destroyed");
  expect(translate(closed, AbortSignal.abort(reason))).toBe(reason);
  expect(translate(closed, new AbortController().signal)).toMatchObject({ kind: "unavailable", cause: closed });
});
