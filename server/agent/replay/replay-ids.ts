import { createHash } from "node:crypto";
import { encodeAgentId } from "../agent-ids.ts";

/**
 * Ids that follow from what is replayed: the same conversation gets the same ones, so that a repeated
 * replay changes nothing, and another one never meets the rows of the first.
 */
export interface ReplayIds {
  session: string;
  /** They ascend from call to call, and the last is older than `before`. */
  next(prefix: "msg" | "prt"): string;
  event(sequence: number): string;
}

const perMillisecond = 4096n;

export function createReplayIds(content: string, { count, before }: { count: number; before: number }): ReplayIds {
  const seed = createHash("sha256").update(content).digest();
  const hash = (what: string) => createHash("sha256").update(seed).update(what).digest();
  let position = BigInt(before) * perMillisecond - BigInt(count);
  return {
    session: encodeAgentId("ses", BigInt(before) * perMillisecond, hash("session")),
    next(prefix) {
      position += 1n;
      return encodeAgentId(prefix, position - 1n, hash(`${prefix} ${position}`));
    },
    event: (sequence) => encodeAgentId("evt", BigInt(sequence), hash(`event ${sequence}`)),
  };
}
