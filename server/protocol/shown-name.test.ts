import { expect, test } from "vitest";
import { shownName, toNamePieces } from "./shown-name.ts";

test.each([
  ["größe 日本語 100% #?.txt", "größe 日本語 100% #?.txt"],
  ["שלום.txt", "שלום.txt"],
  ["👩‍🔬 lab 🇩🇪.md", "👩‍🔬 lab 🇩🇪.md"],
  ["line\nbreak\ttab\r", "line\\nbreak\\ttab\\r"],
  ["a\\nb", "a\\\\nb"],
  ["\u202egnp.exe", "\\u{202e}gnp.exe"],
  ["zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"],
  ["no\u00a0break", "no\\u{a0}break"],
  ["caf\ufffde9", "caf\\xe9"],
  [" a  b / c ", "\\x20a  b\\x20/\\x20c\\x20"],
  ["\u0001\u007f", "\\x01\\x7f"],
  ["-rf", "-rf"],
])("%j is shown as %s", (name, shown) => {
  expect(shownName(name)).toBe(shown);
});

test("names that would look alike are shown as different ones", () => {
  const names = [
    "ab",
    "a\u200db",
    "a\\u{200d}b",
    "a b",
    "a\u2003b",
    " ab",
    "ab ",
    "a\ufffde9b",
    "a\\xe9b",
    "aéb",
    "ab\ufe0f",
  ];
  expect(new Set(names.map(shownName)).size).toBe(names.length);
});

test("what is spelt out stands apart from the rest", () => {
  expect(toNamePieces("a\nb")).toEqual([
    { text: "a", isSpelt: false },
    { text: "\\n", isSpelt: true },
    { text: "b", isSpelt: false },
  ]);
  expect(toNamePieces("")).toEqual([]);
});
