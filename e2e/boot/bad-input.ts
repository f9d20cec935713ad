import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run-dormouse.ts";

export interface Route {
  /** As in the file tree: `/api/v1/sessions/[sessionId]`. */
  path: string;
  methods: string[];
  /** What it reads from a query. */
  queryNames: string[];
  /** Whether any of its methods reads a body of JSON. */
  readsJson: boolean;
}

/** Every route there is, from the files that make them. */
export function findRoutes(): Route[] {
  const files = globSync("app/api/**/route.ts", { cwd: root }).sort();
  return files.map((file) => {
    const source = readFileSync(join(root, file), "utf8");
    const exported = [...source.matchAll(/export const ([A-Z]+)\b|\bas ([A-Z]+)\b|: ([A-Z]+)(?= \}|,)/g)];
    const methods = exported.map(([, constant, renamed, taken]) => constant ?? renamed ?? taken ?? "");
    const shared = [...source.matchAll(/from "@\/(app\/lib\/[\w-]+-routes\.ts)"/g)].map(([, path]) => path ?? "");
    const sources = [source, ...shared.map((path) => readFileSync(join(root, path), "utf8"))];
    return {
      path: `/${file.slice("app/".length, -"/route.ts".length)}`,
      methods,
      queryNames: namesRead(source),
      readsJson: methods.some((method) => method !== "GET") && sources.some((one) => one.includes("readJson(")),
    };
  });
}

/** Every page, as an address: without the groups of the file tree. */
export function findPages(): string[] {
  const files = globSync("app/**/page.tsx", { cwd: root }).sort();
  const paths = files.map((file) => `/${file.slice("app/".length, -"page.tsx".length)}`.replaceAll(/\/\([^)]+\)/g, ""));
  return paths.map((path) => path.replace(/(.)\/$/, "$1"));
}

/** The names that routes read from a query, and some that none does. */
export function findQueryNames(): string[] {
  const files = globSync("app/**/{route,page}.{ts,tsx}", { cwd: root });
  const names = files.flatMap((file) => namesRead(readFileSync(join(root, file), "utf8")));
  return [...new Set([...names, "limit", "before", "under", "next", "callbackUrl", "error", "__proto__", "nobody"])];
}

function namesRead(source: string): string[] {
  return [...source.matchAll(/searchParams\.(?:get|has)\("(\w+)"\)/g)].map(([, name]) => name ?? "");
}

/** What no address can hold: never more than 400 or 404. */
export const brokenParts = ["%", "%f", "%zz", "%ff", "%00", "a%00b", "%ed%a0%80", "%c0%ae"];
export const oddParts = [
  "x",
  "-1",
  "1e999",
  "null",
  "__proto__",
  "%20",
  "%0a",
  "..%2f..%2fsecret",
  "%F0%9F%98%80",
  "z".repeat(36),
  "0".repeat(4_000),
  "{}",
  "'; drop table users; --".replaceAll(" ", "%20"),
  "019A9B2E-0000-7000-8000-00000000000G",
];

export const brokenTexts = ["\0", "a\0b", "\ud800", "\udc00x", "x\ud83d"];
const deep = "[".repeat(20_000) + "]".repeat(20_000);
/** As they stand in JSON. */
export const oddValues = [
  "null",
  "true",
  "-1",
  "1.5",
  "1e308",
  "1e999",
  "99999999999999999999999999",
  '""',
  '" "',
  '"x"',
  `"${"x".repeat(20_000)}"`,
  "[]",
  "{}",
  "[[]]",
  '[{"a":[null]}]',
  '{"__proto__":{"admin":true},"constructor":1}',
  deep,
];

/** Bodies that are no JSON, or no JSON that anybody wants; as bytes. */
export const brokenBodies: Buffer[] = [
  ...["{", "nul", "\0", '{"a":}', "[1,]", "'x'", "NaN"].map((text) => Buffer.from(text)),
  Buffer.from([0x22, 0xff, 0xfe, 0x22]),
  Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  ...brokenTexts.flatMap((text) => [Buffer.from(JSON.stringify({ [text]: 1 })), Buffer.from(JSON.stringify([text]))]),
];

/** Each value of an example, one after another, replaced by each of these; as JSON. */
export function spoil(example: unknown, values: readonly string[]): string[] {
  const spots = listSpots(example);
  return spots.flatMap((spot) => values.map((value) => write(example, spot, value)));
}

type Spot = readonly (string | number)[];

function listSpots(value: unknown): Spot[] {
  if (typeof value !== "object" || value === null) return [[]];
  const inner = Object.entries(value).flatMap(([key, member]) => listSpots(member).map((spot) => [key, ...spot]));
  return [[], ...inner];
}

function write(value: unknown, [key, ...rest]: Spot, replacement: string): string {
  if (key === undefined) return replacement;
  const members = Object.entries(value as object).map(([name, member]) => {
    const text = name === String(key) ? write(member, rest, replacement) : JSON.stringify(member);
    return Array.isArray(value) ? text : `${JSON.stringify(name)}:${text}`;
  });
  return Array.isArray(value) ? `[${members.join()}]` : `{${members.join()}}`;
}
