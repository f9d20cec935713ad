"use client";

import { useEffect, useEffectEvent, useMemo, useSyncExternalStore } from "react";
import { emptyViewerState, type ViewerState } from "@/server/protocol/viewer-state.ts";
import { createBrowserEnvironment } from "./connection/browser-environment.ts";
import { createEventConnection, type EventConnection, type FilesChange } from "./connection/create-event-connection.ts";
import type { ConnectionStatus } from "./connection/environment.ts";

let shared: EventConnection | null = null;

/** One connection per browser, shared by its tabs; one object per tab. */
function eventConnection(): EventConnection {
  shared ??= open();
  return shared;
}

function open(): EventConnection {
  const connection = createEventConnection(createBrowserEnvironment());
  // A page that comes back from the browser's memory of pages connects afresh.
  window.addEventListener("pagehide", () => {
    connection.close();
    shared = null;
  });
  window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
  return connection;
}

/** The session, first as the server rendered it, then live. */
export function useSessionState(sessionId: string, initial: ViewerState): ViewerState {
  const store = useMemo(
    () => (typeof window === "undefined" ? null : eventConnection().session(sessionId, initial)),
    [sessionId, initial],
  );
  return useSyncExternalStore(
    store ? store.subscribe : noSubscription,
    store ? store.snapshot : () => initial,
    () => initial,
  );
}

/** Hints that files of a followed session changed. */
export function useFilesChanges(sessionId: string, hear: (change: FilesChange) => void): void {
  const onChange = useEffectEvent(hear);
  useEffect(
    () =>
      eventConnection()
        .session(sessionId, emptyViewerState)
        .onFiles((change) => onChange(change)),
    [sessionId],
  );
}

const connecting: ConnectionStatus = { state: "connecting" };

export function useConnectionStatus(): ConnectionStatus {
  return useSyncExternalStore(
    (listener) => eventConnection().subscribeStatus(listener),
    () => eventConnection().status(),
    () => connecting,
  );
}

const noSubscription = () => () => {};
