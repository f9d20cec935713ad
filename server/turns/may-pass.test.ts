import { expect, test } from "vitest";
import { AppError, type ErrorKind, type FailureCode } from "../errors.ts";
import { mayPass } from "./may-pass.ts";

const error = (kind: ErrorKind, code?: FailureCode) => new AppError(kind, "It failed.", { code });

test.each([
  ["a sandbox that does not start", error("timeout", "wake-failed")],
  ["a sidecar that is out of reach, or a store", error("unavailable")],
  ["an agent that closed the connection", error("upstream")],
  ["events that cannot be read", error("unavailable", "stream-error")],
  ["a database that lost its connection", new Error("CONNECTION_CLOSED")],
])("%s may be back in a while", (_what, failure) => {
  expect(mayPass(failure)).toBe(true);
});

test.each([
  ["an isolation that cannot be given", error("unavailable", "isolation-unavailable")],
  ["snapshots that are missing from the store", error("unavailable", "snapshots-missing")],
  ["an answer of opencode, whatever it is", error("upstream", "500")],
  ["invalid input", error("invalid-input")],
  ["a person who may not", error("forbidden")],
  ["something that is not there", error("not-found")],
  ["a conflict", error("conflict")],
])("%s stays as it is", (_what, failure) => {
  expect(mayPass(failure)).toBe(false);
});
