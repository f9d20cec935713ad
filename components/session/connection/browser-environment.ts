import { createParser } from "eventsource-parser";
import { heartbeatMilliseconds } from "@/server/protocol/limits.ts";
import { type Cursor, encodeCursor, type FollowedEvent } from "@/server/protocol/session-events.ts";
import { randomId } from "../random-id.ts";
import type { Environment, StreamEnd, TabMessage } from "./environment.ts";

const leaderLock = "dormouse-events";
const tabLock = "dormouse-tab-";
/** A stream that is silent for longer is dead. */
const maxSilence = 3 * heartbeatMilliseconds.browser;

/**
 * Web Locks choose the leader and tell who lives: the browser frees them at any end of a tab, also a
 * crash. Where locks or channels are missing (plain HTTP on another machine), each tab leads itself.
 */
export function createBrowserEnvironment(): Environment {
  const tab = randomId();
  const shares = typeof navigator.locks?.request === "function" && typeof BroadcastChannel === "function";
  const channel = shares ? new BroadcastChannel("dormouse-events") : null;
  if (shares) void navigator.locks.request(tabLock + tab, () => new Promise<never>(() => {}));

  return {
    tab,
    post: (message) => channel?.postMessage(message),
    listen(hear) {
      channel?.addEventListener("message", (event: MessageEvent<TabMessage>) => hear(event.data));
    },
    lead: (signal) => (shares ? requestLead(signal) : Promise.resolve()),
    async liveTabs() {
      if (!shares) return new Set([tab]);
      const { held = [] } = await navigator.locks.query();
      const tabs = held.flatMap(({ name }) => (name?.startsWith(tabLock) ? [name.slice(tabLock.length)] : []));
      return new Set([tab, ...tabs]);
    },
    stream,
    wait,
    schedule,
    now: () => Date.now(),
    random: () => Math.random(),
  };
}

function requestLead(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const held = () =>
      new Promise<void>((release) => {
        resolve();
        signal.addEventListener("abort", () => release(), { once: true });
      });
    navigator.locks.request(leaderLock, { signal }, held).catch(() => resolve());
  });
}

async function stream(input: {
  cursor: Cursor;
  onOpen: () => void;
  onEvent: (event: FollowedEvent) => void;
  signal: AbortSignal;
}): Promise<StreamEnd> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), maxSilence);
  const signal = AbortSignal.any([input.signal, silence.signal]);
  let end: StreamEnd = "lost";
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === "stopping") end = "stopping";
      else input.onEvent({ event, data: JSON.parse(data) } as FollowedEvent);
    },
  });
  try {
    const ids = Object.keys(input.cursor).map(encodeURIComponent).join(",");
    const response = await fetch(`/api/v1/events?follow=${ids}`, {
      headers: { accept: "text/event-stream", "last-event-id": encodeCursor(input.cursor) },
      cache: "no-store",
      signal,
    });
    if (response.status === 401) return "signed-out";
    if (!response.ok || !response.body) return "lost";
    input.onOpen();
    const decoder = new TextDecoder();
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return end;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), maxSilence);
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } catch {
    return end;
  } finally {
    clearTimeout(timer);
  }
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      window.removeEventListener("online", finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal.addEventListener("abort", finish);
    window.addEventListener("online", finish);
  });
}

let scheduled: (() => void) | null = null;

/** Hidden tabs get no animation frames. */
function schedule(work: () => void): void {
  if (scheduled) return;
  scheduled = work;
  const run = () => {
    const due = scheduled;
    scheduled = null;
    due?.();
  };
  if (document.hidden) setTimeout(run, 100);
  else requestAnimationFrame(run);
}
