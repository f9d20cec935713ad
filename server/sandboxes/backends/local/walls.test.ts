import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { SandboxAddress } from "../../../protocol/sandbox.ts";
import type { SandboxBackend, SandboxDoor, SandboxSpec } from "../../sandbox-backend.ts";
import { ask, createSpec, run } from "../../test/test-sandbox.ts";
import { connectToDoor } from "./local-door.ts";
import { createSandboxPaths, type PathsOfSandbox } from "./sandbox-paths.ts";
import { sandboxUid } from "./sandbox-uid.ts";
import { createTestBackend, createTestHome } from "./test/test-backend.ts";

// What is tried here is tried by a shell inside a sandbox that the backend started as it starts every one.

interface Inside {
  spec: SandboxSpec;
  address: SandboxAddress;
  door: SandboxDoor;
  paths: PathsOfSandbox;
}

const canary = `canary-${randomBytes(12).toString("hex")}`;
let home: string;
let removeHome: () => Promise<void>;
let backend: SandboxBackend;
let first: Inside;
let second: Inside;

beforeAll(async () => {
  process.env.DORMOUSE_TEST_CANARY = canary;
  ({ home, remove: removeHome } = await createTestHome());
  await writeFile(join(home, "master-key"), canary, { mode: 0o644 });
  backend = createTestBackend(home);
  first = await provision();
  second = await provision();
});

afterAll(async () => {
  delete process.env.DORMOUSE_TEST_CANARY;
  for (const { spec, address } of [first, second]) {
    await backend.terminate(spec.sandboxId, address, AbortSignal.abort());
  }
  await backend.close();
  await removeHome();
});

async function provision(): Promise<Inside> {
  const spec = createSpec("sandboxed");
  const address = await backend.provision(spec, AbortSignal.timeout(20_000));
  const door = await backend.connect(spec.sandboxId, address);
  return { spec, address, door, paths: await createSandboxPaths(home).of(spec.sandboxId) };
}

const tryInside = (command: string) => run(first.door, command);

async function reaches(host: string, port: number): Promise<boolean> {
  const { output } = await tryInside(`timeout 5 bash -c 'exec 3<>/dev/tcp/${host}/${port}' && echo reached`);
  return output.includes("reached");
}

async function withServer<Result>(where: object, use: (server: Server) => Promise<Result>): Promise<Result> {
  const server = createServer((socket) => socket.on("error", () => {}).end("reached"));
  server.listen(where);
  await once(server, "listening");
  try {
    return await use(server);
  } finally {
    server.close();
  }
}

it("has a loopback of its own, with a name", async () => {
  const listen = `require("http").createServer((q, a) => a.end("own")).listen(4321, "127.0.0.1", async () => {
    console.log(await (await fetch("http://localhost:4321")).text()); process.exit(); })`;
  const { output } = await tryInside(`/opt/dormouse/bin/node -e '${listen}'`);
  expect(output.trim()).toBe("own");
});

it("reaches neither the host's loopback, nor its other addresses, nor Postgres", async () => {
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address }) => address);
  await withServer({ host: "0.0.0.0", port: 0 }, async (server) => {
    const { port } = server.address() as AddressInfo;
    for (const host of ["127.0.0.1", "localhost", ...outside]) expect(await reaches(host, port)).toBe(false);
  });
  expect(await reaches("127.0.0.1", Number(new URL(inject("postgresUrl")).port))).toBe(false);
  const { output } = await tryInside("grep -c PGSQL /proc/net/unix");
  expect(output.trim()).toBe("0");
  const routes = await tryInside("cat /proc/net/route | tail -n +2; ls /sys/class/net 2>/dev/null");
  expect(routes.output.trim()).toBe("");
});

it("reaches neither another sandbox's door, nor its agent's port, nor its files", async () => {
  await run(second.door, "echo treasure > /workspace/treasure; echo treasure > /tmp/treasure");
  const listening = `require("http").createServer((q, a) => a.end()).listen(4180, "127.0.0.1", () => console.log("up"))`;
  const agent = await run(
    second.door,
    `/opt/dormouse/bin/node -e '${listening}' > /tmp/up 2>&1 & sleep 0.2; until grep -q up /tmp/up; do sleep 0.1; done; echo $!`,
  );
  expect(agent.code).toBe(0);
  expect(await reaches("127.0.0.1", 4180)).toBe(false);
  const sockets = await tryInside("find / -path /usr -prune -o -path /proc -prune -o -type s -print 2>/dev/null");
  // The server's own is there as well, in a directory that the sandbox enters without seeing what is in it.
  expect(sockets.output.trim()).toBe("/run/dormouse/door/socket");
  expect(await ask(first.door, "/server", "/")).toBe("the server");
  const { door, server, workspace } = second.paths;
  for (const path of [door, server, workspace, first.paths.directory, home]) {
    expect((await tryInside(`test -e ${path} && echo there`)).output).toBe("");
  }
  const found = await tryInside("grep -rls treasure /workspace /tmp /run /var /home /root /mnt /srv 2>/dev/null");
  expect(found.output).toBe("");
  expect(await ask(second.door, "/health")).toContain(second.spec.launch.bootId);
});

it("sees and signals no process of the host", async () => {
  expect((await tryInside(`kill -0 ${process.pid} 2>&1`)).code).not.toBe(0);
  const visible = await tryInside("cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
  expect(visible.output).not.toContain("vitest");
  expect(visible.output).not.toContain(home);
  // It ends itself, sidecar and all, and nobody else.
  await expect(tryInside("kill -9 -1; kill -9 $PPID")).rejects.toThrow();
  expect((await run(second.door, "echo alive")).output.trim()).toBe("alive");
  await backend.terminate(first.spec.sandboxId, first.address, AbortSignal.timeout(10_000));
  first = await provision();
});

it("is nobody on the host, and can make no user namespace in which it would be more", async () => {
  expect((await tryInside("id -u")).output.trim()).toBe("1000");
  await tryInside("touch /workspace/mine");
  const uid = sandboxUid(first.spec.sandboxId) ?? process.getuid?.();
  expect((await stat(join(first.paths.workspace, "mine"))).uid).toBe(uid);
  expect(process.getuid?.() === 0 && uid === 0).toBe(false);
  expect((await tryInside("unshare -Ur true")).code).not.toBe(0);
  expect((await tryInside("grep CapEff /proc/self/status")).output).toMatch(/\b0{16}\b/);
});

it("writes no setting of the kernel and reads no secret of the machine", async () => {
  for (const setting of ["kernel/core_pattern", "vm/swappiness", "kernel/sysrq", "net/ipv4/ip_forward"]) {
    expect((await tryInside(`echo 1 > /proc/sys/${setting}`)).code).not.toBe(0);
  }
  for (const secret of [
    "/etc/shadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/root",
    "/home",
    "/proc/kcore",
    join(home, "master-key"),
  ]) {
    expect((await tryInside(`cat ${secret}`)).code).not.toBe(0);
  }
  expect((await tryInside("ls -A /etc | grep -E 'shadow|machine-id|ssh'")).output).toBe("");
});

it("writes to its workspace, to directories for temporary files and to its door, and nowhere else", async () => {
  const { output } = await tryInside(
    "for d in / /usr /etc /opt/dormouse /dev /run /run/dormouse /run/dormouse/server /var; do touch $d/x 2>/dev/null && echo WROTE $d; done",
  );
  expect(output).not.toContain("WROTE");
  for (const directory of ["/workspace", "/tmp", "/dev/shm", "/run/dormouse/door"]) {
    expect((await tryInside(`touch ${directory}/x && rm ${directory}/x`)).code).toBe(0);
  }
  expect((await tryInside("rm -f /run/dormouse/server/socket")).code).not.toBe(0);
});

/** Files, environments and command lines in which the sandbox finds this text. */
async function findInside(text: string): Promise<string> {
  // As a class in the middle, so that the search does not find its own command line.
  const pattern = `${text.slice(0, 6)}[${text[6]}]${text.slice(7)}`.replaceAll("+", ".");
  const files = "/workspace /tmp /run /etc /opt /var /dev/shm --exclude=opencode --exclude=node";
  const { output } = await tryInside(
    `grep -rlsa '${pattern}' ${files}; grep -lsa '${pattern}' /proc/[0-9]*/environ /proc/[0-9]*/cmdline`,
  );
  return output.trim();
}

it("holds no key, token or variable of the server in files, environments or command lines", async () => {
  const { sandboxToken, bootSecret } = first.spec.launch;
  await tryInside(`echo planted-${canary} > /workspace/planted`);
  expect(await findInside(`planted-${canary}`)).toBe("/workspace/planted");
  await tryInside("rm /workspace/planted");
  for (const secret of [canary, sandboxToken, bootSecret, home]) expect(await findInside(secret)).toBe("");
});

it("cannot lead the server to another socket by a link put where its door was", async () => {
  const victim = join(home, "victim");
  await withServer({ path: victim }, async () => {
    await tryInside(`mv /run/dormouse/door/socket /run/dormouse/door/kept; ln -s ${victim} /run/dormouse/door/socket`);
    await expect(connectToDoor(first.paths.door)).rejects.toThrow();
  });
  await rm(first.paths.door);
});
