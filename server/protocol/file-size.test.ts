import { expect, it } from "vitest";
import { fileSize } from "./file-size.ts";

it("a size is said in the largest unit of which it has one, up to GB", () => {
  const sizes = [0, 840, 1024, 1229, 300 * 1024, 5 * 1024 ** 2, 4 * 1024 ** 3, 5.25 * 1024 ** 3, 2000 * 1024 ** 3];
  expect(sizes.map(fileSize)).toEqual([
    "0 B",
    "840 B",
    "1 KB",
    "1.2 KB",
    "300 KB",
    "5 MB",
    "4 GB",
    "5.3 GB",
    "2000 GB",
  ]);
});
