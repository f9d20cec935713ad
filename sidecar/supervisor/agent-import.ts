import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { Problem } from "../sidecar-problem.ts";

const run = promisify(execFile);
const deadline = 45_000;

export const agentImport = z.object({
  /** Whose directory the agent's session belongs to. */
  sessionId: z.uuid(),
  /** As `opencode export` writes it. */
  session: z.looseObject({ info: z.looseObject({ id: z.string() }), messages: z.array(z.unknown()) }),
});

export type ImportIntoAgent = (input: z.output<typeof agentImport>, signal: AbortSignal) => Promise<void>;

/** `opencode import` beside the running server: it takes the session's directory from where it is run. Idempotent. */
export function createAgentImport(options: {
  opencode: string;
  sessions: string;
  temporary: string;
  environment: Record<string, string>;
}): ImportIntoAgent {
  const { opencode, sessions, temporary, environment } = options;
  return async ({ sessionId, session }, signal) => {
    const directory = join(sessions, sessionId);
    if (!(await stat(directory).catch(() => null))?.isDirectory()) {
      throw new Problem("not-found", "The session has no directory in this sandbox.");
    }
    const file = join(temporary, `import-${randomBytes(8).toString("hex")}.json`);
    try {
      await writeFile(file, JSON.stringify(session), { mode: 0o600 });
      await run(opencode, ["import", file], {
        cwd: directory,
        env: environment as NodeJS.ProcessEnv,
        timeout: deadline,
        killSignal: "SIGKILL",
        signal,
      });
    } catch (error) {
      const words = String((error as { stderr?: unknown }).stderr ?? "").trim();
      throw new Problem("upstream", `opencode could not import the conversation. ${words.slice(-300)}`.trim(), {
        cause: error,
      });
    } finally {
      await rm(file, { force: true });
    }
  };
}
