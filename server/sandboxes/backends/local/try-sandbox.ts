import { chmod, chown, mkdir, mkdtemp, readlink, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reachableProgram } from "../../../lib/reachable-program.ts";
import { runProgram } from "../../../lib/run-program.ts";
import { bubblewrapArguments } from "./bubblewrap.ts";
import type { Bubblewrap } from "./find-bubblewrap.ts";
import { closeAll, openForBinding } from "./path-descriptors.ts";
import { type ProbeQuestion, probeProgram } from "./probe-program.ts";
import { sandboxUid } from "./sandbox-uid.ts";

/**
 * One real run of a sandbox that tries everything it must not be able to do. Resolves to what it could
 * do nevertheless; throws, in bubblewrap's own words, when it did not start. Leaves nothing behind.
 */
export async function trySandbox(bubblewrap: Bubblewrap, signal: AbortSignal): Promise<string[]> {
  const uid = sandboxUid("probe");
  // A TMPDIR of root's own may be closed to others; /tmp never is.
  const directory = await mkdtemp(join(uid === null ? tmpdir() : "/tmp", "dormouse-probe-"));
  const workspace = join(directory, "workspace");
  const secret = join(directory, "secret");
  // Being connected is all that counts; how the other side lets go is not our concern.
  const loopback = createServer((socket) => socket.on("error", () => {}).end());
  const door = createServer((socket) => socket.on("error", () => {}).end());
  try {
    await chmod(directory, 0o711);
    await mkdir(workspace);
    await writeFile(secret, "secret", { mode: 0o644 });
    await listen(loopback, { host: "127.0.0.1", port: 0 });
    await listen(door, { path: join(workspace, "door") });
    await chmod(join(workspace, "door"), 0o666);
    if (uid !== null) await chown(workspace, uid, uid);
    const question: ProbeQuestion = {
      port: (loopback.address() as AddressInfo).port,
      secret,
      namespaces: await namespaces(),
    };
    const problems = await runInside({ bubblewrap, workspace, question, uid, signal });
    const written = await stat(join(workspace, "written"));
    if (written.uid === 0) problems.push("it writes files as root");
    return problems;
  } finally {
    loopback.close();
    door.close();
    await rm(directory, { recursive: true, force: true });
  }
}

const environment = { PATH: "/usr/bin:/bin" };

async function runInside(trial: {
  bubblewrap: Bubblewrap;
  workspace: string;
  question: ProbeQuestion;
  uid: number | null;
  signal: AbortSignal;
}): Promise<string[]> {
  const node = await reachableProgram({
    program: process.execPath,
    version: process.version,
    user: trial.uid === null ? null : { uid: trial.uid, gid: trial.uid },
  });
  const descriptors = await openForBinding([node, trial.workspace]);
  try {
    const { code, output, complaint } = await runProgram({
      path: trial.bubblewrap.path,
      parameters: bubblewrapArguments({
        disableUserns: trial.bubblewrap.disableUserns,
        dieWithParent: true,
        mounts: [
          { descriptor: 4, destination: "/opt/dormouse/node", writable: false },
          { descriptor: 5, destination: "/workspace", writable: true },
        ],
        infoDescriptor: 3,
        temporaryBytes: 16 * 1024 * 1024,
        workingDirectory: "/workspace",
        command: ["/opt/dormouse/node", "--input-type=module", "--eval", probeProgram, JSON.stringify(trial.question)],
      }),
      environment,
      // A real pipe: where bubblewrap cannot write its information, it dies and leaves its child waiting for ever.
      descriptors: ["pipe", ...descriptors],
      uid: trial.uid,
      signal: trial.signal,
    });
    if (code !== 0) throw new Error(lastWords(complaint) || `bwrap ended with code ${code}`);
    return JSON.parse(output) as string[];
  } finally {
    await closeAll(descriptors);
  }
}

function lastWords(complaint: string): string {
  return complaint.trim().replaceAll("\n", " ").slice(-500);
}

async function namespaces(): Promise<Record<string, string>> {
  const kinds = ["mnt", "pid", "ipc", "uts", "user", "net"];
  return Object.fromEntries(
    await Promise.all(kinds.map(async (kind) => [kind, await readlink(`/proc/self/ns/${kind}`)])),
  );
}

function listen(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, resolve);
  });
}
