import { randomBytes } from "node:crypto";

/**
 * Ids as opencode makes them: a prefix, 12 hexadecimal digits that ascend with time, 14 random
 * characters. opencode orders messages and parts by their ids, so ours must ascend too: also within
 * one millisecond, and also when the clock is set back.
 */
export interface AgentIds {
  messageId(): string;
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const perMillisecond = 4096n;
const placeForm = /^[a-z]{3}_([0-9a-f]{12})/;

export function createAgentIds(now: () => number = Date.now): AgentIds {
  let last = 0n;
  return {
    messageId() {
      const earliest = BigInt(now()) * perMillisecond;
      last = earliest > last ? earliest : last + 1n;
      return encodeAgentId("msg", last, randomBytes(14));
    },
  };
}

/** Anything else makes opencode answer 500 instead of 404. */
export function isAgentSessionId(value: string): boolean {
  return /^ses_[0-9A-Za-z]{8,64}$/.test(value);
}

/** `place` orders, the first 14 bytes of `rest` tell apart. */
export function encodeAgentId(prefix: string, place: bigint, rest: Uint8Array): string {
  const text = Array.from(rest.subarray(0, 14), (byte) => alphabet[byte % alphabet.length]).join("");
  return `${prefix}_${BigInt.asUintN(48, place).toString(16).padStart(12, "0")}${text}`;
}

/** Whether opencode made `id` after `other`; false where either is not of its form. */
export function isLater(id: string, other: unknown): boolean {
  const places = [id, other].map((one) => (typeof one === "string" ? placeForm.exec(one)?.[1] : undefined));
  const [place, otherPlace] = places;
  return place !== undefined && otherPlace !== undefined && place > otherPlace;
}

/** Of the one part of a prompt: it follows from the message, so that a repeated prompt has the same. */
export function partIdOf(messageId: string): string {
  return messageId.replace(/^msg_/, "prt_");
}

/** Whether a message has that id. */
export function hasId(id: string): (message: { info: { id: string } }) => boolean {
  return ({ info }) => info.id === id;
}

/** One place before that of another id: what is told before it. */
export function idBefore(id: string): string {
  const place = BigInt(`0x${id.slice(4, 16)}`) - 1n;
  return `${id.slice(0, 4)}${BigInt.asUintN(48, place).toString(16).padStart(12, "0")}${id.slice(16)}`;
}
