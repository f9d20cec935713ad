import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { bundleSidecar } from "./bundle-sidecar.mjs";

const clone = resolve(import.meta.dirname, "../..");
const roots: string[] = [];
afterEach(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
});

async function makeClone(files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "dormouse-bundle-"));
  roots.push(root);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

describe("bundling the sidecar", () => {
  it.runIf(existsSync(join(clone, "sidecar/main.ts")))("takes in nothing but its own and the protocol", async () => {
    const { inputs } = await bundleSidecar({ root: clone });
    expect(inputs).toContain("sidecar/main.ts");
  });

  it("makes one program of the sidecar, the protocol and packages", async () => {
    const root = await makeClone({
      "sidecar/main.ts":
        'import { word } from "../server/protocol/words.ts"; import { more } from "more"; console.log(word + more);',
      "server/protocol/words.ts": 'export const word: string = "dor";',
      "node_modules/more/index.js": 'exports.more = "mouse";',
    });
    const { code, inputs } = await bundleSidecar({ root });
    expect(code).toContain('"dor"');
    expect(code).toContain('"mouse"');
    expect(inputs).toHaveLength(3);
  });

  it.each(["server/config.ts", "db/client.ts", "app/page.ts", "server/protocol-of-another.ts"])(
    "refuses %s, however deep it is imported",
    async (path) => {
      const root = await makeClone({
        "sidecar/main.ts": 'import "./door/door.ts";',
        "sidecar/door/door.ts": `import { secret } from "../../${path}"; console.log(secret);`,
        [path]: 'export const secret = "secret";',
      });
      await expect(bundleSidecar({ root })).rejects.toThrow(path);
    },
  );
});
