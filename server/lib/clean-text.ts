/**
 * Postgres stores neither NUL nor half of a surrogate pair. Each such unit becomes U+FFFD, which is
 * one unit too, so that offsets stay right.
 */
export function cleanText(text: string): string {
  const formed = text.toWellFormed();
  return formed.includes("\0") ? formed.replaceAll("\0", "\uFFFD") : formed;
}

/** The same for every text inside, keys too. JSON escapes both, so that clean values are not walked through. */
export function cleanJson(value: unknown): string {
  const json = JSON.stringify(value) ?? "null";
  if (!/\\u(?:0000|d[89a-f])/i.test(json)) return json;
  return JSON.stringify(JSON.parse(json, cleanMember));
}

/** The value itself when it is clean. */
export function cleanValue<Value>(value: Value): Value {
  const json = JSON.stringify(value);
  const clean = cleanJson(value);
  return json === clean || json === undefined ? value : JSON.parse(clean);
}

function cleanMember(this: unknown, _key: string, value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [cleanText(key), member]));
}

export const endsInHalfPair = (text: string): boolean => {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
};
