import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { encodeEntry } from "./encode-entry.ts";
import { readTar } from "./read-tar.ts";

const limits = { maxBytes: 1e12, maxEntries: 10 };
const entry = { kind: "file", name: "workspace/huge", mode: 0o644, modifiedAt: 1_700_000_000, target: "" } as const;

describe("the header of a file", () => {
  it.each([8 ** 11 - 1, 8 ** 11, 20_000_000_000, 5e12])("of %i bytes says so to us and to tar", async (size) => {
    const header = encodeEntry({ ...entry, size });
    async function* source() {
      yield header;
    }
    for await (const found of readTar(source(), limits)) {
      expect(found).toMatchObject({ name: "workspace/huge", kind: "file", size });
      break;
    }
    // Its body is missing here, which tar says after it has listed the name.
    const script = "tar tvf - --quoting-style=literal 2>/dev/null || true";
    const listed = execFileSync("sh", ["-c", script], { input: header, encoding: "utf8" });
    expect(listed).toContain(` ${size} `);
  });
});
