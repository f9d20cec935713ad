import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * A registry of npm, an index of pip and a repository of git, each with one thing, on an address that is
 * the machine's own and yet not the one that programs reach without a proxy.
 */
export async function servePackages() {
  const root = await mkdtemp(join(tmpdir(), "dormouse-packages-"));
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent((request.url ?? "").split("?")[0] ?? "");
    asked.push(path);
    const file = await readFile(join(root, normalize(path.endsWith("/") ? `${path}index.html` : path))).catch(
      () => null,
    );
    if (!file) return response.writeHead(404).end();
    response.setHeader("content-type", path.endsWith("/") ? "text/html" : "application/octet-stream").end(file);
  });
  server.listen({ host: "127.0.0.2", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.2:${port}`;
  await makeNpmPackage(root, url);
  await makeWheel(root);
  await makeRepository(root);
  return {
    url,
    port,
    asked,
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function makeNpmPackage(root: string, url: string): Promise<void> {
  const source = join(root, "acorn-source", "package");
  await mkdir(source, { recursive: true });
  await writeFile(join(source, "package.json"), JSON.stringify({ name: "hazelnut", version: "1.0.0" }));
  await writeFile(join(source, "index.js"), 'module.exports = "from npm";\n');
  await run("tar", ["-czf", join(root, "hazelnut.tgz"), "-C", join(root, "acorn-source"), "package"]);
  const integrity = createHash("sha512")
    .update(await readFile(join(root, "hazelnut.tgz")))
    .digest("base64");
  const dist = { tarball: `${url}/hazelnut.tgz`, integrity: `sha512-${integrity}` };
  const versions = { "1.0.0": { name: "hazelnut", version: "1.0.0", dist } };
  await writeFile(
    join(root, "hazelnut"),
    JSON.stringify({ name: "hazelnut", "dist-tags": { latest: "1.0.0" }, versions }),
  );
}

async function makeWheel(root: string): Promise<void> {
  const name = "walnut-1.0.0-py3-none-any.whl";
  const script = `
import zipfile, sys
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("walnut.py", "print('from pip')\\n")
    wheel.writestr("walnut-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: walnut\\nVersion: 1.0.0\\n")
    wheel.writestr("walnut-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("walnut-1.0.0.dist-info/RECORD", "walnut.py,,\\nwalnut-1.0.0.dist-info/METADATA,,\\nwalnut-1.0.0.dist-info/WHEEL,,\\nwalnut-1.0.0.dist-info/RECORD,,\\n")
`;
  await run("/usr/bin/python3", ["-c", script, join(root, name)]);
  await mkdir(join(root, "simple", "walnut"), { recursive: true });
  await writeFile(join(root, "simple", "walnut", "index.html"), `<a href="/${name}">${name}</a>`);
}

async function makeRepository(root: string): Promise<void> {
  const work = join(root, "work");
  await mkdir(work);
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
  await run("git", ["init", "-q", "-b", "main", work]);
  await writeFile(join(work, "chestnut.txt"), "from git\n");
  await run("git", ["-C", work, "add", "."]);
  await run("git", [...identity, "-C", work, "commit", "-qm", "first"]);
  await run("git", ["clone", "-q", "--bare", work, join(root, "chestnut.git")]);
  await run("git", ["-C", join(root, "chestnut.git"), "update-server-info"]);
}
