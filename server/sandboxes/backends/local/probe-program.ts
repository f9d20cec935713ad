export interface ProbeQuestion {
  /** Where something listens on the host's loopback. */
  port: number;
  /** A world-readable file of the host. */
  secret: string;
  /** The host's own, as /proc/self/ns names them. */
  namespaces: Record<string, string>;
}

/**
 * What the probe runs inside the trial sandbox, as source text: it must not depend on any file.
 * It tries each forbidden thing and prints, as JSON, what it should not have been able to do.
 */
export const probeProgram = `
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";

const question = JSON.parse(process.argv[1]);
const problems = [];
const expect = (holds, problem) => holds || problems.push(problem);
const works = (action) => { try { action(); return true; } catch { return false; } };
const reach = (where) => new Promise((resolve) => {
  const socket = connect(where, () => { socket.destroy(); resolve(true); });
  socket.on("error", () => resolve(false));
});

for (const [kind, name] of Object.entries(question.namespaces)) {
  expect(readlinkSync("/proc/self/ns/" + kind) !== name, "it shares the host's " + kind + " namespace");
}
const status = readFileSync("/proc/self/status", "utf8");
expect(process.getuid() !== 0, "it runs as root");
expect(/^CapEff:\\s*0+$/m.test(status) && /^CapBnd:\\s*0+$/m.test(status), "it has capabilities");
expect(/^NoNewPrivs:\\s*1$/m.test(status), "it may gain privileges");
expect(process.getgroups().every((group) => group === process.getgid()), "it keeps groups of the server");
expect(readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length < 10, "it sees other processes");
const inherited = readFileSync("/proc/1/environ", "utf8").split("\\0").filter((line) => line && !line.startsWith("PATH="));
expect(inherited.length === 0, "it sees the environment of the server");
expect(!existsSync(question.secret), "it sees files of the host");
expect(!works(() => readFileSync("/etc/shadow")), "it can read the shadow file");
expect(!works(() => closeSync(openSync("/proc/sys/vm/swappiness", "r+"))), "it can write kernel settings");
for (const directory of ["/", "/usr", "/etc", "/opt/dormouse", "/dev"]) {
  expect(!works(() => writeFileSync(directory + "/.dormouse-probe", "")), "it can write to " + directory);
}
for (const name of readdirSync("/proc/self/fd")) {
  const target = works(() => readlinkSync("/proc/self/fd/" + name)) ? readlinkSync("/proc/self/fd/" + name) : "";
  expect(Number(name) < 3 || !target.startsWith("/") || /^\\/(proc|dev)\\//.test(target), "it holds an open handle on " + target);
}
expect(works(() => writeFileSync("/workspace/written", "")), "it cannot write to its workspace");
expect(works(() => writeFileSync("/tmp/written", "")), "it has no directory for temporary files");
expect(await reach({ path: "/workspace/door" }), "a socket in its directory cannot be reached");
expect(!(await reach({ host: "127.0.0.1", port: question.port })), "it reaches the host's loopback");
process.stdout.write(JSON.stringify(problems));
`;
