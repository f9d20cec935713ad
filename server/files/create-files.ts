import { text } from "node:stream/consumers";
import { eq } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { sessions } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError, isAppError, isErrorKind } from "../errors.ts";
import type { Lifecycle, RunningSandbox } from "../lifecycle/index.ts";
import { sessionId as sessionIdSchema } from "../protocol/ids.ts";
import { fileList, sidecarProblem } from "../protocol/sidecar.ts";
import type { LogHub } from "../sessions/index.ts";
import type { Files } from "./index.ts";
import { createFileWatches } from "./watch-files.ts";

export interface FilesOptions {
  database: Database;
  lifecycle: Pick<Lifecycle, "findRunning">;
  hub: LogHub;
}

const nothing = { entries: [], truncated: false };

/** A session's directory and these in it are made with its first turn; until then they are as empty as after it. */
const madeWithSession = ["", "outputs", "attachments"];

export function createFiles({ database, lifecycle, hub }: FilesOptions): Files {
  const watches = createFileWatches({ hub, findRunning: lifecycle.findRunning });

  async function requireSandbox(actor: Actor, sessionId: string): Promise<RunningSandbox> {
    const wanted = sessionIdSchema.safeParse(sessionId);
    const [row] = wanted.success
      ? await database.transaction(actor, (tx) =>
          tx.select({ sandboxId: sessions.sandboxId }).from(sessions).where(eq(sessions.id, wanted.data)),
        )
      : [];
    if (!row) throw new AppError("not-found", "There is no such session.");
    const sandbox = row.sandboxId ? lifecycle.findRunning(row.sandboxId) : null;
    if (!sandbox) throw new AppError("unavailable", "Files can only be read while the sandbox is awake.");
    watches.learn(sessionId, sandbox.sandboxId);
    return sandbox;
  }

  return {
    async list(actor, { sessionId, path, signal }) {
      const { sidecar } = await requireSandbox(actor, sessionId);
      const inside = insideOf(sessionId, path);
      const asked = { method: "GET" as const, path: `/files/list?path=${encodeURIComponent(inside)}`, signal };
      const found = await sidecar.json(asked).catch((error: unknown) => {
        const isToCome = madeWithSession.some((name) => inside === insideOf(sessionId, name));
        if (isToCome && isAppError(error) && error.kind === "not-found") return nothing;
        throw error;
      });
      const { entries, truncated } = fileList.parse(found);
      return { entries: entries.map((entry) => ({ ...entry, path: relativeTo(sessionId, entry.path) })), truncated };
    },
    async read(actor, { sessionId, path, range, signal }) {
      const { sidecar } = await requireSandbox(actor, sessionId);
      const answer = await sidecar.send({
        method: "GET",
        path: `/files/read?path=${encodeURIComponent(insideOf(sessionId, path))}`,
        ...(range && { headers: { range } }),
        signal,
      });
      if (answer.status >= 400) throw refusal(sessionId, answer.status, await text(answer.body));
      const header = (name: string) => (typeof answer.headers[name] === "string" ? answer.headers[name] : null);
      return {
        status: answer.status,
        size: header("content-length") === null ? null : Number(header("content-length")),
        contentRange: header("content-range"),
        modifiedAt: header("last-modified"),
        body: answer.body,
      };
    },
    close: () => watches.close(),
  };
}

/** The sidecar refuses what would leave the workspace; that it stays in this session's part is decided here. */
function insideOf(sessionId: string, path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..") || path.includes("\0")) {
    throw new AppError("invalid-input", "That path is outside the session's files.");
  }
  return ["sessions", sessionId, ...segments].join("/");
}

function relativeTo(sessionId: string, path: string): string {
  const root = `sessions/${sessionId}/`;
  return path.startsWith(root) ? path.slice(root.length) : path;
}

function refusal(sessionId: string, status: number, body: string): AppError {
  let said: unknown = null;
  try {
    said = JSON.parse(body);
  } catch {
    // Not the sidecar's own words.
  }
  const problem = sidecarProblem.safeParse(said);
  if (!problem.success) return new AppError("upstream", `The sandbox refused to read the file (${status}).`);
  const { kind, message } = problem.data.error;
  // The person knows the file by its path within the session.
  const words = message.replaceAll(`sessions/${sessionId}/`, "");
  return new AppError(isErrorKind(kind) ? kind : "upstream", words);
}
