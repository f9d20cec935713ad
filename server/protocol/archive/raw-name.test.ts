import { expect, test } from "vitest";
import { nameBytes, rawName, rawNameOf, readName, writtenName } from "./raw-name.ts";

const written = (...bytes: number[]) => writtenName(rawName(Buffer.from(bytes)));

test.each(["plain", "größe", "100%", "a%41", "a\\b", "new\nline", "‮gnp", "🐭", "-", "#?+&'\"", "", "e\u0301", "é"])(
  "%j is written as it is",
  (name) => {
    expect(writtenName(rawNameOf(name))).toBe(name);
    expect(readName(name)).toBe(rawNameOf(name));
  },
);

test("bytes that are not UTF-8 are written byte by byte, and so is a replacement character of the name's own", () => {
  expect(written(0x63, 0xe9, 0x2e)).toBe("c\ufffde9.");
  expect(written(0xff, 0xfe, 0x41)).toBe("\ufffdff\ufffdfeA");
  expect(written(...Buffer.from("x\ufffde9"))).toBe("x\ufffdef\ufffdbf\ufffdbde9");
  // Overlong, a surrogate, cut: none is UTF-8.
  expect(written(0xc0, 0xaf)).toBe("\ufffdc0\ufffdaf");
  expect(written(0xed, 0xa0, 0x80)).toBe("\ufffded\ufffda0\ufffd80");
  expect(written(0xe2, 0x82)).toBe("\ufffde2\ufffd82");
  expect(written(0xe2, 0x82, 0xc3, 0xa9)).toBe("\ufffde2\ufffd82é");
  expect(written(0xf4, 0x90, 0x80, 0x80)).toBe("\ufffdf4\ufffd90\ufffd80\ufffd80");
});

test("every name of two bytes, and many longer ones, are written each their own way and read back", () => {
  const seen = new Set<string>();
  const check = (name: string) => {
    const text = writtenName(name);
    expect(readName(text)).toBe(name);
    expect(text.isWellFormed()).toBe(true);
    seen.add(text);
  };
  const names = new Set<string>();
  for (let first = 0; first < 256; first += 1) {
    for (let second = 0; second < 256; second += 1) names.add(String.fromCharCode(first, second));
  }
  let state = 1;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
  const likely = [0xef, 0xbf, 0xbd, 0xe2, 0x82, 0xac, 0xc3, 0xa9, 0x65, 0x39, 0xf0, 0x9f, 0x90, 0xad, 0xed, 0xa0];
  for (let count = 0; count < 20_000; count += 1) {
    const bytes = Array.from({ length: 1 + random(8) }, () => likely[random(likely.length)] ?? 0);
    names.add(rawName(Buffer.from(bytes)));
  }
  for (const name of names) check(name);
  expect(seen.size).toBe(names.size);
});

test.each([
  ["a replacement character without its byte", "caf\ufffd.txt"],
  ["capital letters", "caf\ufffdE9"],
  ["a byte that is ASCII", "\ufffd41"],
  ["bytes that are a character of their own", "\ufffdc3\ufffda9"],
  ["half a character of UTF-16", "a\ud800b"],
])("%s is no way to write a name", (_what, text) => {
  expect(readName(text)).toBeNull();
});

test("a name keeps its bytes", () => {
  const bytes = Buffer.from([0x2f, 0x80, 0xff, 0x0a]);
  expect(nameBytes(readName(writtenName(rawName(bytes))) ?? "").equals(bytes)).toBe(true);
});
