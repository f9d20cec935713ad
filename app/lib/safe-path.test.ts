import { expect, test } from "vitest";
import { safePath } from "./safe-path.ts";

test.each(["/", "/settings/models", "/sessions/1?tab=files#end"])("keeps %j, a path of this site", (path) => {
  expect(safePath(path)).toBe(path);
});

test.each([
  "//evil.example",
  "/\\evil.example",
  "/\t/evil.example",
  "/.//evil.example",
  "https://evil.example/",
  "javascript:alert(1)",
  "sessions",
  "",
  undefined,
  ["/settings"],
])("leads %j to the start page instead", (wanted) => {
  expect(safePath(wanted)).toBe("/");
});
