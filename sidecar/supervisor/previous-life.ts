import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import { endMarked } from "../processes/marked-processes.ts";
import { isAlive, type ProcessIdentity, signalPid } from "../processes/process-table.ts";
import { agentMark } from "./agent-environment.ts";

const record = z.object({ pid: z.number().int(), startTime: z.string() });

export async function recordAgent(path: string, { pid, startTime }: ProcessIdentity): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify({ pid, startTime }));
  await rename(`${path}.new`, path);
}

/**
 * Ends the agent of an earlier sidecar and all that it had started, found by the record and by their
 * mark: never two agents on one database. Throws when something does not end.
 */
export async function endPreviousLife({ path, sandboxId }: { path: string; sandboxId: string }): Promise<number> {
  const text = await readFile(path, "utf8").catch(() => "null");
  const recorded = record.safeParse(safeJson(text)).data;
  const ended = await endMarked(agentMark(sandboxId));
  if (recorded && isAlive(recorded)) signalPid(-recorded.pid, "SIGKILL");
  await rm(path, { force: true });
  return ended;
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
