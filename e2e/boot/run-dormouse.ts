import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll } from "vitest";
import { copyCluster, type PreparedCluster, prepareCluster } from "../prepared-cluster.ts";

export const root = resolve(import.meta.dirname, "../..");
export const isRoot = process.getuid?.() === 0;
/** Root may mount things where nobody else sees them, unless a container forbids it. */
export const canMount = isRoot && spawnSync("unshare", ["-m", "true"], { timeout: 10_000 }).status === 0;

/** One start of the whole program, as a process of its own. */
export interface RunningDormouse {
  readonly process: ChildProcess;
  output(): string;
  /** Resolves to the address; rejects, with all it said, when the start fails. */
  ready(): Promise<string>;
  /** Resolves when it says so. */
  says(text: string): Promise<void>;
  /** The exit code, or the name of the signal that ended it. */
  ended(): Promise<number | string | null>;
}

export interface RunOptions {
  home: string;
  environment?: Record<string, string>;
  /** Instead of `node server/main.ts`; run in the clone. */
  command?: readonly [string, ...string[]];
  uid?: number;
}

const patience = 60_000;
const running = new Set<RunningDormouse>();
const directories = new Set<string>();

export function runDormouse({ home, environment = {}, command, uid }: RunOptions): RunningDormouse {
  const [program, ...parameters] = command ?? [process.execPath, "server/main.ts"];
  const child = spawn(program, parameters, {
    cwd: root,
    // Nothing of what this machine configured for itself.
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_ENV: "production",
      DORMOUSE_HOME: home,
      DORMOUSE_PORT: "0",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let output = "";
  let end: number | string | null | undefined;
  child.stdout?.on("data", (chunk) => (output += chunk));
  child.stderr?.on("data", (chunk) => (output += chunk));
  child.on("error", (error) => (output += error.message));
  child.on("exit", (code, signal) => (end = signal ?? code));

  const until = async (what: string, condition: () => boolean) => {
    const deadline = Date.now() + patience;
    while (!condition()) {
      if (Date.now() > deadline) throw new Error(`Dormouse was not ${what} within ${patience / 1000} s:\n${output}`);
      await sleep(25);
    }
  };
  const says = async (text: string) => {
    await until(`saying "${text}"`, () => output.includes(text) || end !== undefined);
    if (!output.includes(text)) throw new Error(`Dormouse ended (${end}) before it said "${text}":\n${output}`);
  };
  const dormouse: RunningDormouse = {
    process: child,
    output: () => output,
    says,
    async ready() {
      await says("Dormouse is ready at ");
      // Until the first run is done, it is that page's, with the set-up code.
      return new URL(/Dormouse is ready at (\S+)/.exec(output)?.[1] ?? "").origin;
    },
    async ended() {
      await until("ended", () => end !== undefined && child.stdout?.closed === true);
      return end ?? null;
    },
  };
  running.add(dormouse);
  return dormouse;
}

/** Runs one that cannot start, to its end. */
export async function runToFailure(options: RunOptions): Promise<string> {
  const dormouse = runDormouse(options);
  const code = await dormouse.ended();
  if (code !== 1) throw new Error(`Expected exit code 1, and got ${code}:\n${dormouse.output()}`);
  return dormouse.output();
}

/** A new directory that other users can pass through. */
export async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "dormouse-boot-"));
  await chmod(directory, 0o755);
  directories.add(directory);
  return directory;
}

let cluster: Promise<PreparedCluster> | undefined;
afterAll(async () => (await cluster)?.remove());

/** A new home that has a database cluster already, where making one is not the subject. */
export async function makeHome(): Promise<string> {
  const home = await makeDirectory();
  cluster ??= prepareCluster();
  await copyCluster((await cluster).directory, home);
  return home;
}

/** What a start writes that binds the next one: its key, the home's name, the file store. */
export async function lastingIn(home: string): Promise<string[]> {
  const lasting = ["master-key", "master-key.new", "place", "store"];
  return (await readdir(home)).filter((name) => lasting.includes(name)).sort();
}

/** For `afterEach`: ends whatever a test left running, a Postgres without its server included. */
export async function cleanUp(): Promise<void> {
  for (const { process: child } of running) {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  }
  running.clear();
  for (const directory of directories) {
    for (const pid of postgresOf(directory)) endIfAlive(pid);
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  directories.clear();
}

// It may end by itself at any moment.
function endIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The pids of all Postgres processes that work somewhere below a directory. */
export function postgresOf(directory: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && isPostgresIn(directory, pid));
}

// Whatever they call themselves, all of them work in the data directory. The dead work nowhere.
function isPostgresIn(directory: string, pid: number): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("postgres") &&
      readlinkSync(`/proc/${pid}/cwd`).startsWith(directory)
    );
  } catch {
    return false;
  }
}
