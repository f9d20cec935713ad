"use client";

import { useCallback, useEffect, useRef, useState } from "react";
import { useFilesChanges } from "../session/event-connection.ts";
import { listFiles } from "../session/session-api.ts";
import { foldersTouched, fromSession } from "./file-kind.ts";
import { type Folders, givenFolders, sorted, withoutEmptyGiven } from "./folders.ts";

const quietMilliseconds = 200;

/**
 * The folders that are open, read when first opened and again when something in them changed: by the
 * server's hint, when `pulse` changes (a tool of the agent ended), or when the sandbox has woken. One
 * that is not awake is asked for nothing.
 */
export function useFolders(sessionId: string, { pulse, awake }: { pulse: number; awake: boolean }) {
  const [folders, setFolders] = useState<Folders>(new Map());
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(["outputs"]));
  const due = useRef(new Set<string>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const shown = useRef(open);
  shown.current = open;
  const canRead = useRef(awake);
  canRead.current = awake;

  const load = useCallback(
    async (path: string) => {
      if (!canRead.current) return;
      const outcome = await listFiles(sessionId, path);
      setFolders((now) => {
        if (!outcome.ok) {
          // What was there stays: a sandbox that sleeps has not lost its files.
          const before = now.get(path) ?? { entries: [], truncated: false };
          return new Map(now).set(path, { ...before, problem: outcome.message });
        }
        const entries = outcome.entries.map((entry) => ({ ...entry, path: fromSession(entry.path, sessionId) }));
        return new Map(now).set(path, { entries: sorted(entries), truncated: outcome.truncated, problem: null });
      });
    },
    [sessionId],
  );

  const reloadSoon = useCallback(
    (paths: Iterable<string>) => {
      for (const path of paths)
        if (path === "" || givenFolders.includes(path) || shown.current.has(path)) due.current.add(path);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        const now = [...due.current];
        due.current.clear();
        for (const path of now) void load(path);
      }, quietMilliseconds);
    },
    [load],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: each pulse and each wake reads again
  useEffect(() => reloadSoon(["", ...givenFolders, ...shown.current]), [reloadSoon, pulse, awake]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useFilesChanges(sessionId, ({ paths, all }) =>
    reloadSoon(all ? ["", ...givenFolders, ...shown.current] : foldersTouched(paths)),
  );

  function toggle(path: string) {
    const next = new Set(open);
    if (!next.delete(path)) {
      next.add(path);
      void load(path);
    }
    setOpen(next);
  }

  return { folders: withoutEmptyGiven(folders), open, toggle, reload: (path: string) => void load(path) };
}
