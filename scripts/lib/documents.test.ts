import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const folders = ["app", "bench", "components", "db", "e2e", "faults", "scripts", "server", "sidecar"];
const read = (path: string) => readFileSync(join(root, path), "utf8");
const below = (folder: string, pattern: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name))
    .map((name) => join(folder, name));

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...["docs", "db", "server"].flatMap((folder) => below(folder, /\.md$/)),
];
const sources = folders
  .flatMap((folder) => below(folder, /\.(ts|tsx|mjs|sql|css)$/))
  .filter((path) => path !== "scripts/lib/documents.test.ts")
  .map((path) => ({ path, text: read(path) }));

describe("documents", () => {
  it("link to files that exist", () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .map((match) => match[1] ?? "")
        .filter((target) => !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it("number 21 invariants, and the sources cite no others", () => {
    const section = /^## Invariants$(.*?)^## /ms.exec(read("ARCHITECTURE.md"))?.[1] ?? "";
    const known = [...section.matchAll(/^(\d+)\. /gm)].map((match) => Number(match[1]));
    expect(known).toEqual(Array.from({ length: 21 }, (_, index) => index + 1));
    const unknown = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\binvariants? (\d+(?:(?:, | and )\d+)*)/gi)]
        .flatMap((match) => (match[1] ?? "").split(/, | and /).map(Number))
        .filter((number) => !known.includes(number))
        .map((number) => `${path}: ${number}`),
    );
    expect(unknown).toEqual([]);
  });

  it("have the headings that the sources cite", () => {
    const missing = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\b((?:docs\/)?[\w-]+\.md), "([^"]+)"/g)]
        .filter(([, document = "", heading]) => !read(document).includes(`\n## ${heading}\n`))
        .map(([cited]) => `${path}: ${cited}`),
    );
    expect(missing).toEqual([]);
  });

  it("are all that the sources cite", () => {
    const cites = sources.filter(({ text }) => /\b(FACTS|DESIGN|STYLE|VISUAL)\b(?!_)|§/.test(text));
    expect(cites.map(({ path }) => path)).toEqual([]);
  });
});
