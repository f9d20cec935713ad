import { type SidecarLaunch, sidecarLaunch } from "../server/protocol/sidecar.ts";
import { createSidecar } from "./create-sidecar.ts";

/**
 * The program beside the agent. It is told everything on standard input and from then on depends on
 * nobody: whoever started it may crash, its terminal may close, its output may lead nowhere.
 */
const launchDeadline = 30_000;
const maxLaunchBytes = 8 * 1024 * 1024;
const closeDeadline = 12_000;

process.stdout.on("error", () => {});
process.stderr.on("error", () => {});
for (const signal of ["SIGHUP", "SIGINT", "SIGUSR2"] as const) process.on(signal, () => {});

function report(message: string): void {
  process.stderr.write(`${new Date().toISOString()} sidecar: ${message}\n`);
}

async function readLaunch(): Promise<unknown> {
  const late = setTimeout(() => process.stdin.destroy(new Error("nothing was handed over")), launchDeadline);
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.length > maxLaunchBytes) throw new Error("what was handed over is too long");
  }
  clearTimeout(late);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("what was handed over is not JSON");
  }
}

/** Names what is wrong, never its value: that may be a secret. */
function parseLaunch(value: unknown): SidecarLaunch {
  const parsed = sidecarLaunch.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`not valid: ${parsed.error.issues.map(({ path }) => path.join(".")).join(", ")}`);
}

const sidecar = await readLaunch()
  .then((launch) => createSidecar(parseLaunch(launch), report))
  .catch((error: Error) => {
    report(`cannot start: ${error.message}`);
    process.exit(2);
  });
report("both doors are open");

let closing = false;
function end(code: number): void {
  if (closing) return;
  closing = true;
  setTimeout(() => process.exit(code), closeDeadline).unref();
  sidecar.close().then(
    () => process.exit(code),
    (error: Error) => {
      report(error.stack ?? error.message);
      process.exit(1);
    },
  );
}
process.on("SIGTERM", () => end(0));
// Nothing is known of the state after this; the next sidecar starts afresh.
process.on("uncaughtException", (error) => {
  report(error.stack ?? error.message);
  end(1);
});
process.on("unhandledRejection", (error) => {
  report(error instanceof Error ? (error.stack ?? error.message) : String(error));
  end(1);
});
