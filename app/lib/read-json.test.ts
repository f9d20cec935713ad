import { expect, it } from "vitest";
import { z } from "zod";
import { readJson } from "./read-json.ts";

const anything = z.unknown();
const read = (body: string | Uint8Array<ArrayBuffer>, type = "application/json", schema: z.ZodType = anything) =>
  readJson(new Request("http://here.invalid/", { method: "POST", body, headers: { "content-type": type } }), schema);

it("reads JSON, and nothing as an empty object", async () => {
  expect(await read('{"name":"Häsel 🐿"}')).toEqual({ name: "Häsel 🐿" });
  expect(await read("")).toEqual({});
});

it("refuses what is no JSON, or not in UTF-8", async () => {
  for (const body of ["{", "x", Uint8Array.of(0x22, 0xff, 0x22), Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)]) {
    await expect(read(body)).rejects.toMatchObject({ kind: "invalid-input", message: "The request body is not JSON." });
  }
});

it("refuses a NUL and half a character anywhere, also in a key and deep inside", async () => {
  const deep = (text: string) => `${"[".repeat(100_000)}${text}${"]".repeat(100_000)}`;
  for (const body of ['"\\u0000"', '{"a\\u0000":1}', '["x\\ud83d"]', '{"a":{"\\udc00":[]}}', deep('"\\ud800"')]) {
    await expect(read(body)).rejects.toMatchObject({ kind: "invalid-input" });
  }
  await expect(read(deep('"fine"'))).resolves.toBeDefined();
});

it("refuses what a form of any page could send", async () => {
  for (const type of [
    "text/plain;charset=UTF-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
  ]) {
    await expect(read("{}", type)).rejects.toMatchObject({ kind: "invalid-input" });
  }
});
