import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import { agentMark } from "./agent-environment.ts";
import { endMarked, isAlive, type ProcessIdentity, signalGroup } from "./marked-processes.ts";

const record = z.object({ pid: z.number().int(), startTime: z.string() });

export async function recordAgent(path: string, identity: ProcessIdentity): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(identity));
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
  if (recorded && (await isAlive(recorded))) signalGroup(recorded.pid, "SIGKILL");
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
