import { text } from "node:stream/consumers";
import { eq } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { sessions } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError, isAppError, isErrorKind } from "../errors.ts";
import type { Lifecycle, RunningSandbox } from "../lifecycle/index.ts";
import { readName } from "../protocol/archive/raw-name.ts";
import { sessionId as sessionIdSchema } from "../protocol/ids.ts";
import { maxFileNameBytes, tooLongFileName } from "../protocol/limits.ts";
import { fileList, sidecarProblem } from "../protocol/sidecar.ts";
import type { LogHub } from "../sessions/index.ts";
import type { Archives } from "../snapshots/index.ts";
import type { Files } from "./index.ts";
import { createFileWatches } from "./watch-files.ts";

export interface FilesOptions {
  database: Database;
  lifecycle: Pick<Lifecycle, "findRunning">;
  archives: Pick<Archives, "isReplacing">;
  hub: LogHub;
}

/** A folder may hold hundreds of thousands of files. */
const removeMilliseconds = 120_000;
const nothing = { entries: [], truncated: false };

/** A session's directory and these in it are made with its first turn; until then they are as empty as after it. */
const madeWithSession = ["", "outputs", "attachments"];

export function createFiles({ database, lifecycle, archives, hub }: FilesOptions): Files {
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
    if (!sandbox) throw new AppError("unavailable", "The files can only be reached while the sandbox is awake.");
    watches.learn(sessionId, sandbox.sandboxId);
    return sandbox;
  }

  /** What is changed while a snapshot is put back would be lost: the restore replaces all that is there. */
  async function requireChangeable(actor: Actor, sessionId: string): Promise<RunningSandbox> {
    const sandbox = await requireSandbox(actor, sessionId);
    if (!archives.isReplacing(sessionId)) return sandbox;
    throw new AppError("conflict", "A snapshot is being restored. Change files when that is done.");
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
    async move(actor, { sessionId, from, to, signal }) {
      const json = { from: changeableIn(sessionId, from), to: changeableIn(sessionId, to) };
      const { sidecar } = await requireChangeable(actor, sessionId);
      await sidecar
        .json({ method: "POST", path: "/files/move", json, signal })
        .catch((error: unknown) => Promise.reject(inSession(sessionId, error)));
    },
    async remove(actor, { sessionId, path, signal }) {
      const inside = encodeURIComponent(changeableIn(sessionId, path));
      const { sidecar } = await requireChangeable(actor, sessionId);
      await sidecar
        .json({
          method: "DELETE",
          path: `/files/delete?path=${inside}`,
          timeoutMilliseconds: removeMilliseconds,
          signal,
        })
        .catch((error: unknown) => Promise.reject(inSession(sessionId, error)));
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
  for (const segment of segments) {
    const name = readName(segment);
    if (name === null) throw new AppError("invalid-input", "That is not the name of a file.");
    if (name.length > maxFileNameBytes) throw new AppError("invalid-input", tooLongFileName);
  }
  return ["sessions", sessionId, ...segments].join("/");
}

/** Not the session's directory itself, and no part of the repository's own in it. */
function changeableIn(sessionId: string, path: string): string {
  const inside = insideOf(sessionId, path);
  const [, , top] = inside.split("/");
  if (top === undefined) throw new AppError("invalid-input", "Name a file or folder of this session.");
  if (top === ".git") throw new AppError("forbidden", "The repository's own files cannot be changed here.");
  return inside;
}

function relativeTo(sessionId: string, path: string): string {
  const root = `sessions/${sessionId}/`;
  return path.startsWith(root) ? path.slice(root.length) : path;
}

/** The person knows a file by its path within the session. */
function inSession(sessionId: string, error: unknown): unknown {
  if (!isAppError(error)) return error;
  return new AppError(error.kind, shortened(sessionId, error.message), { cause: error });
}

const shortened = (sessionId: string, words: string) => words.replaceAll(`sessions/${sessionId}/`, "");

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
  return new AppError(isErrorKind(kind) ? kind : "upstream", shortened(sessionId, message));
}
