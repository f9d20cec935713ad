import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { findRunningPostgres } from "../../server/boot/embedded-postgres.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { useProvider } from "../fixtures/providers.ts";
import { filesWith, findSandbox, secretsOf } from "../fixtures/sandbox-view.ts";
import { lastAnswer, runTurn, shellOutput } from "../fixtures/session.ts";
import { expect, test } from "../fixtures/test.ts";

const withoutBubblewrap = process.env.DORMOUSE_TEST_WITHOUT_BUBBLEWRAP === "1";

test("a provider's key is nowhere in the sandbox: files, environments, command lines", async ({
  browser,
  userPage,
}) => {
  const canary = `sk-canary-${randomBytes(16).toString("hex")}`;
  const model = await startModelServer({ key: canary });
  const provider = await useProvider(browser, model);
  try {
    await userPage.goto("/");
    const made = await runTurn(userPage, "make a web page about keys");
    const told = await runTurn(userPage, "run `env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'`", made.id);
    expect(model.asked()).toBeGreaterThanOrEqual(4);
    expect(lastAnswer(made)).toContain("outputs/index.html");
    expect(shellOutput(told)).toContain("PATH=");

    const sandbox = await findSandbox(made.id);
    // The search would find it if it were there.
    const planted = `planted-${randomBytes(8).toString("hex")}`;
    await writeFile(join(sandbox.workspace, "planted"), planted);
    expect(await filesWith(planted, sandbox.workspace)).toEqual([join(sandbox.workspace, "planted")]);
    expect(await filesWith(canary, sandbox.workspace)).toEqual([]);
    expect(JSON.stringify([made, told])).not.toContain(canary);
    const processes = sandbox.processes();
    expect(processes.some((pid) => secretsOf(pid).includes("opencode"))).toBe(true);
    expect(processes.filter((pid) => secretsOf(pid).includes(canary))).toEqual([]);
  } finally {
    await provider.remove();
    await model.stop();
  }
});

test.describe("from the agent's own shell", () => {
  test.skip(withoutBubblewrap, "agents are not isolated here, by consent");

  test("neither the host's loopback, its other addresses nor Postgres can be reached", async ({ userPage: page }) => {
    await page.goto("/");
    const hidden = createServer((_request, response) => response.end("treasure"));
    hidden.listen({ host: "0.0.0.0", port: 0 });
    await once(hidden, "listening");
    try {
      const { port } = hidden.address() as AddressInfo;
      const outside = Object.values(networkInterfaces())
        .flatMap((addresses) => addresses ?? [])
        .filter(({ family, internal }) => family === "IPv4" && !internal)
        .map(({ address }) => address);
      const hosts = ["127.0.0.1", "localhost", "127.0.0.2", "[::1]", ...outside];
      const tries = hosts.flatMap((host) => [
        `curl -s -m 5 http://${host}:${port}/`,
        `curl -s -m 5 --noproxy '*' http://${host}:${port}/`,
        `curl -s -m 5 -p -x "$HTTP_PROXY" http://${host}:${port}/`,
      ]);
      const output = shellOutput(await runTurn(page, fenced([...tries, "echo all tried"])));
      expect(output).toContain("all tried");
      expect(output).not.toContain("treasure");
      expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe("treasure");

      const postgres = new URL((await findRunningPostgres(process.env.E2E_HOME ?? "")) ?? "");
      const knock = `exec 3<>/dev/tcp/127.0.0.1/${postgres.port || 5432}`;
      const direct = `timeout 5 bash -c '${knock}' 2>/dev/null && echo reached; grep -c PGSQL /proc/net/unix`;
      expect(shellOutput(await runTurn(page, fenced([direct, "true"]))).trim()).toBe("0");
    } finally {
      hidden.close();
    }
  });

  test("no door, agent or file of another sandbox can be reached", async ({ userPage, adminPage }) => {
    await userPage.goto("/");
    await adminPage.goto("/");
    const treasure = `treasure-${randomBytes(8).toString("hex")}`;
    const theirs = await runTurn(
      adminPage,
      `run \`echo ${treasure} > treasure.txt; echo ${treasure} > /tmp/treasure; ls /run/dormouse\``,
    );
    expect(shellOutput(theirs)).toContain("door");
    const own = await runTurn(userPage, "run `pwd`");
    const [their, mine] = [await findSandbox(theirs.id), await findSandbox(own.id)];
    expect(their.id).not.toBe(mine.id);
    expect(await filesWith(treasure, their.workspace)).not.toEqual([]);

    const ports = agentPorts(their.processes());
    expect(ports.length).toBeGreaterThan(0);
    const look = [
      "find / -path /proc -prune -o -type s -print 2>/dev/null | sort",
      // The class keeps the command itself, which opencode writes down, from being a hit.
      `grep -rls 'treasure[-]${treasure.slice(9)}' /workspace /tmp /run /var /home /root /mnt 2>/dev/null`,
      `test -e ${their.workspace} && echo their files`,
      `test -e ${process.env.E2E_HOME} && echo the home`,
      ...ports.map((port) => `timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' 2>/dev/null && echo port ${port}`),
      "true",
    ];
    const output = shellOutput(await runTurn(userPage, fenced(look), own.id)).trim();
    const ownPorts = new Set(agentPorts(mine.processes()));
    const reachable = ports.filter((port) => ownPorts.has(port)).map((port) => `port ${port}`);
    const isOwnSocket = (line: string) => line.startsWith("/run/dormouse/");
    expect(output.split("\n").filter(isOwnSocket)).toContain("/run/dormouse/door/socket");
    expect(output.split("\n").filter((line) => !isOwnSocket(line))).toEqual(reachable);
  });

  test("no process, setting or secret of the host can be reached", async ({ userPage: page }) => {
    await page.goto("/");
    const home = process.env.E2E_HOME ?? "";
    const { pid } = JSON.parse(readFileSync(join(home, "server.json"), "utf8")) as { pid: number };
    const output = shellOutput(
      await runTurn(
        page,
        fenced([
          `kill -0 ${pid} 2>/dev/null && grep -qa 'server/main' /proc/${pid}/cmdline && echo sees the server`,
          "grep -lsa 'server/main[.]ts' /proc/[0-9]*/cmdline",
          // Opened for writing, and nothing written: were it possible, this machine should not suffer for it.
          "for f in sys/kernel/domainname sys/kernel/core_pattern sys/vm/drop_caches sysrq-trigger; do (: >> /proc/$f) 2>/dev/null && echo can write $f; done",
          "for f in /etc/shadow /root/.ssh/id_rsa /root/.bash_history /proc/kcore /dev/sda /dev/mem; do head -c 1 $f 2>/dev/null | grep -q . && echo read $f; done",
          `for f in ${home}/master-key ${home}/server.json; do cat $f 2>/dev/null && echo read $f; done`,
          "(echo x > /usr/bin/planted) 2>/dev/null && echo wrote /usr; (echo x > /etc/planted) 2>/dev/null && echo wrote /etc",
          "unshare -Ur true 2>/dev/null && echo made a user namespace",
          'test "$(id -u)" = 0 && echo is root',
          "echo all tried",
        ]),
      ),
    );
    expect(output.trim()).toBe("all tried");
    expect(await readdir(home)).toContain("master-key");
  });
});

/** Several commands, each on a line of its own: a failing one does not keep the next from being tried. */
const fenced = (commands: string[]) => `run \`\`\`\n${commands.join("\n")}\n\`\`\``;

/** What listens on loopback in the network of these processes. */
function agentPorts(pids: number[]): number[] {
  const table = pids.map((pid) => readQuietly(`/proc/${pid}/net/tcp`)).find((text) => text !== "") ?? "";
  const listening = [...table.matchAll(/^\s*\d+: [0-9A-F]{8}:([0-9A-F]{4}) 00000000:0000 0A/gm)];
  return listening.map((match) => Number.parseInt(match[1] ?? "0", 16));
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
