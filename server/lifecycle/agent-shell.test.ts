import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { sandboxes } from "../../db/schema/index.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { createLifecycleTest, ensure, type LifecycleTest } from "./test/test-lifecycle.ts";
import { servePackages } from "./test/test-packages.ts";

// The real agent in the real sandbox: what its own shell can do, through the sidecar and the server's egress.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let test: LifecycleTest;
let packages: Awaited<ReturnType<typeof servePackages>>;
let sidecar: SidecarClient;
let sandboxId: string;
let directory: string;
let agentSession: string;

beforeAll(async () => {
  test = await createLifecycleTest();
  packages = await servePackages();
  const server = await test.startServer({ agent: "opencode", allow: [{ host: "127.0.0.2", port: packages.port }] });
  const sessionId = await test.createSession();
  ({ sidecar, sandboxId } = await ensure(server, { actor: test.actor, sessionId }));
  ({ directory } = await sidecar.prepareWorkspace(sessionId, AbortSignal.timeout(20_000)));
  const { id } = await callAgent<{ id: string }>("/session", { title: "shell" });
  agentSession = id;
});
afterAll(async () => {
  await packages?.close();
  await test?.dispose();
});

async function callAgent<Result>(path: string, body: unknown): Promise<Result> {
  const answer = await sidecar.send({
    method: "POST",
    path: `/agent${path}?directory=${encodeURIComponent(directory)}`,
    body: JSON.stringify(body),
    contentType: "application/json",
    timeoutMilliseconds: 60_000,
    signal: AbortSignal.timeout(90_000),
  });
  const received = await text(answer.body);
  if (answer.status >= 400) throw new Error(`${answer.status}: ${received.slice(0, 500)}`);
  return JSON.parse(received) as Result;
}

/** Runs a command as the agent's own shell does, without a model. */
async function shell(command: string): Promise<string> {
  const { parts } = await callAgent<{ parts: { state?: { output?: string } }[] }>(`/session/${agentSession}/shell`, {
    agent: "build",
    command,
  });
  return parts.map(({ state }) => state?.output ?? "").join("");
}

it("works in its directory, with the tools it needs", async () => {
  expect((await shell("pwd")).trim()).toBe(directory);
  expect(await shell("git --version && node --version && rg --version && python3 --version")).toMatch(/git version/);
});

it("installs from npm and pip and clones with git, all through the server's egress", async () => {
  const { url } = packages;
  const npm = await shell(`npm install --registry=${url} hazelnut 2>&1 && node -p 'require("hazelnut")'`);
  expect(npm).toContain("from npm");
  const pip = await shell(
    `pip install -q --target lib --index-url ${url}/simple --trusted-host 127.0.0.2 walnut 2>&1; PYTHONPATH=lib python3 -m walnut`,
  );
  expect(pip).toContain("from pip");
  const git = await shell(`git clone -q ${url}/chestnut.git 2>&1; cat chestnut/chestnut.txt`);
  expect(git).toContain("from git");
  expect(packages.asked.length).toBeGreaterThan(3);
});

it("is refused what is not public, and told so", async () => {
  const hidden = createServer((_request, response) => response.end("reached"));
  await new Promise<void>((resolve) => hidden.listen({ host: "0.0.0.0", port: 0 }, resolve));
  const { port } = hidden.address() as AddressInfo;
  try {
    for (const host of ["127.0.0.2", "127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]"]) {
      const output = await shell(`curl -sS -m 10 http://${host}:${port}/ 2>&1; curl -sS -m 10 http://${host}/ 2>&1`);
      expect(output).not.toContain("reached");
    }
    expect(await shell(`curl -sS -m 10 http://10.0.0.1/ 2>&1`)).toContain("sandboxes may not reach");
    const around = await shell(`curl -sS -m 5 --noproxy '*' http://127.0.0.2:${port}/ 2>&1`);
    expect(around).not.toContain("reached");
  } finally {
    hidden.close();
  }
});

it("finds the sandbox's token in no environment, command line or file", async () => {
  const [row] = await test.database.transaction(test.actor, (tx) =>
    tx.select().from(sandboxes).where(eq(sandboxes.id, sandboxId)),
  );
  const { directory: own, workspace } = await createSandboxPaths(test.shared.home).of(sandboxId);
  const { first } = JSON.parse(await readFile(join(own, "life.json"), "utf8")) as { first: { pid: number } };
  const token = test.openToken(row?.tokenEncrypted ?? "", sandboxId);
  expect(token).toMatch(/^dormouse_sandbox_/);
  const inside = processesIn(readlinkSync(`/proc/${first.pid}/ns/pid`));
  expect(inside.length).toBeGreaterThan(2);
  for (const pid of inside) {
    expect(readFileSync(`/proc/${pid}/environ`, "utf8") + readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(
      token,
    );
  }
  // opencode writes down the command that it searched with; the class in it keeps that from being a hit.
  const find = (secret: string) =>
    shell(`grep -rlsa '${secret.slice(0, 8)}[${secret[8]}]${secret.slice(9)}' /workspace /tmp /run`);
  await writeFile(join(workspace, "planted"), "planted-secret");
  expect((await find("planted-secret")).trim()).toBe("/workspace/planted");
  expect((await find(token)).trim()).toBe("");
});

/** As the host sees them: also what hides from the agent. */
function processesIn(namespace: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/ns/pid`) === namespace;
    } catch {
      return false;
    }
  });
}
