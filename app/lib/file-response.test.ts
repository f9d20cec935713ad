import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { fileResponse } from "./file-response.ts";

const disposition = (path: string) =>
  fileResponse(Readable.from([]), { path, download: true }).headers.get("content-disposition");

test.each([
  ["outputs/index.html", `attachment; filename="index.html"; filename*=UTF-8''index.html`],
  ["größe (1).txt", `attachment; filename="gr__e (1).txt"; filename*=UTF-8''gr%C3%B6%C3%9Fe%20%281%29.txt`],
  [`it's "100%".txt`, `attachment; filename="it's _100__.txt"; filename*=UTF-8''it%27s%20%22100%25%22.txt`],
  ["a\\b\nc;d", `attachment; filename="a_b_c_d"; filename*=UTF-8''a%5Cb%0Ac%3Bd`],
  ["🐭\u202e", `attachment; filename="__"; filename*=UTF-8''%F0%9F%90%AD%E2%80%AE`],
  ["caf\ufffde9.txt", `attachment; filename="caf_e9.txt"; filename*=UTF-8''caf%EF%BF%BDe9.txt`],
  [".bashrc", `attachment; filename=".bashrc"; filename*=UTF-8''.bashrc`],
  ["", `attachment; filename="file"; filename*=UTF-8''file`],
])("%j is sent as a file of that name", (path, expected) => {
  expect(disposition(path)).toBe(expected);
});
