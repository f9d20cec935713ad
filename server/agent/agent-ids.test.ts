import { expect, test } from "vitest";
import { createAgentIds, isAgentSessionId, partIdOf } from "./agent-ids.ts";

test("ids have opencode's form", () => {
  const ids = createAgentIds();
  const messageId = ids.messageId();
  expect(messageId).toMatch(/^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
  expect(partIdOf(messageId)).toMatch(/^prt_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
});

test("ids carry the time as opencode's own do", () => {
  // A message of a recorded stream, and the time of its creation.
  const ids = createAgentIds(() => 1794786545375);
  expect(ids.messageId().slice(0, 16)).toBe("msg_1e19d4edf000");
});

test("ids ascend within a millisecond, and when the clock is set back", () => {
  let now = 1794786545375;
  const ids = createAgentIds(() => now);
  const made = Array.from({ length: 5000 }, () => ids.messageId());
  now -= 60_000;
  made.push(ids.messageId());
  expect(made.map((id) => id.slice(0, 16))).toEqual([...new Set(made.map((id) => id.slice(0, 16)))].sort());
});

test("only what opencode could have made is a session's id", () => {
  expect(isAgentSessionId("ses_e1e62b131ffeZHc3uf2O0zA68B")).toBe(true);
  for (const id of ["", "ses_", "nonsense", "ses_../../x", "SES_e1e62b131ffeZHc3uf2O0zA68B"]) {
    expect(isAgentSessionId(id), id).toBe(false);
  }
});
