import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Viewer } from "../server/auth/index.ts";
import type { Turn } from "../server/turns/index.ts";
import type { TestSetup } from "../server/turns/test-wiring.ts";

/** What `doomed-server.ts` is told. */
export interface Doom {
  setup: TestSetup;
  viewer: Viewer;
  sessionId: string;
  asks: { kind: Turn["kind"]; prompt: string }[];
  pauseBefore?: string | null;
}

const startMilliseconds = 120_000;

/** Of what was asked, in the same order; null where it was refused. */
export async function startDoomedServer(doom: Doom): Promise<{ child: ChildProcess; turnIds: (string | null)[] }> {
  const program = resolve(import.meta.dirname, "doomed-server.ts");
  const child = spawn(process.execPath, [program, JSON.stringify(doom)], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const signal = AbortSignal.timeout(startMilliseconds);
    // It says so itself when it cannot start: how long that takes is the machine's business.
    const died = once(child, "exit", { signal }).then(() =>
      Promise.reject(new Error("The doomed server did not start.")),
    );
    died.catch(() => {});
    const [text] = await Promise.race([once(child.stdout, "data", { signal }), died]);
    return { child, turnIds: JSON.parse(String(text)) as (string | null)[] };
  } catch (error) {
    await endDoomedServer(child);
    throw error;
  }
}

export async function endDoomedServer(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
