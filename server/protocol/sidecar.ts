import { z } from "zod";

/** Raised when a server and an older sidecar would misunderstand each other. */
export const sidecarProtocol = 4;
/** Still understood, of a sandbox that an earlier version left: 3 cannot be frozen. */
export const oldestSidecarProtocol = 3;

/** Stands in the agent's configuration for the sidecar's loopback address, which only the sidecar knows. */
export const sidecarOrigin = "http://sidecar.invalid";

/**
 * Handed over at start as one JSON document on standard input (never in the environment or on the
 * command line, which the agent could read).
 */
export const sidecarLaunch = z.object({
  sandboxId: z.uuid(),
  bootId: z.uuid(),
  /** Of the server, Ed25519, SPKI in base64. */
  publicKey: z.string(),
  /** 32 bytes in base64: proves the sidecar's answers. */
  bootSecret: z.string(),
  /** Sent to the server with model and API calls, and with egress. */
  sandboxToken: z.string(),
  /** Where the sidecar is reached, and where it reaches the server. */
  door: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("socket"), path: z.string() }),
    z.object({ kind: z.literal("address"), host: z.string(), port: z.number().int() }),
  ]),
  server: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("socket"), path: z.string() }),
    z.object({ kind: z.literal("address"), url: z.url() }),
  ]),
  /** Root of the layout (ARCHITECTURE.md, "Sandboxes"): `/workspace`, or a host directory under `host`. */
  workspace: z.string(),
  /** Programs: absolute paths as seen by the sidecar. `rg` is put on the agent's PATH. */
  programs: z.object({ opencode: z.string(), ripgrepDirectory: z.string(), path: z.string() }),
  /** Loopback port for the agent's model and API calls and its CONNECT proxy; the same for the sandbox's life. */
  agentPort: z.number().int().min(1).max(65535),
  /** The content of opencode.json. */
  agentConfig: z.record(z.string(), z.unknown()),
  /** Hosts that leave through the CONNECT proxy are decided by the server; false under `host`, where the network is the machine's. */
  proxyEgress: z.boolean(),
  /**
   * Whether the sandbox has a pid namespace of its own, in which a signal may go to every process; false where the
   * processes of the machine are in sight.
   */
  ownPidNamespace: z.boolean(),
});
export type SidecarLaunch = z.infer<typeof sidecarLaunch>;

export const agentStates = ["waiting", "starting", "running", "restarting", "failed"] as const;

/** `GET /health`: needs no signature; with a nonce header the answer is proved. */
export const sidecarHealth = z.object({
  protocol: z.number().int(),
  sandboxId: z.string(),
  bootId: z.string(),
  /** Closed until history was restored or explicitly skipped; opencode does not run before (ARCHITECTURE.md, invariant 6). */
  gate: z.enum(["closed", "open"]),
  agent: z.object({
    state: z.enum(agentStates),
    /** Raised at each start of opencode in this boot. */
    life: z.number().int(),
    version: z.string().nullable(),
    cause: z.string().nullable(),
  }),
  lastEvent: z.number().int(),
});
export type SidecarHealth = z.infer<typeof sidecarHealth>;

/**
 * `GET /agent-events?after=n`: server-sent events whose id is their number, beginning with `hello`,
 * then everything numbered after n. Numbers begin at 1 in each boot and never skip. Where the buffer
 * no longer holds what follows n, a `gap` says what was lost; deltas of parts that were open then
 * do not fit and wait for the cumulative part. Comments keep the connection (`heartbeatMilliseconds`).
 */
export const numberedEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("hello"), oldest: z.number().int(), last: z.number().int(), bootId: z.string() }),
  z.object({ type: z.literal("gap"), from: z.number().int(), to: z.number().int() }),
  /** opencode's own event, as it came from /global/event, without `sync` duplicates and heartbeats. */
  z.object({
    type: z.literal("agent"),
    number: z.number().int(),
    directory: z.string().nullable(),
    payload: z.object({ id: z.string().optional(), type: z.string(), properties: z.record(z.string(), z.unknown()) }),
  }),
  /** What the sidecar saw of opencode's life and of its own reading of the events. */
  z.object({
    type: z.literal("life"),
    number: z.number().int(),
    life: z.number().int(),
    what: z.enum(["started", "exited", "events-connected", "events-lost"]),
    cause: z.string().nullable(),
  }),
]);
export type NumberedEvent = z.infer<typeof numberedEvent>;

/**
 * Paths below are relative to the workspace root, e.g. `sessions/<id>/outputs/index.html`, and written as
 * `archive/raw-name.ts` says: also names that are not UTF-8 come and go as text.
 */
export const fileEntry = z.object({
  name: z.string(),
  path: z.string(),
  kind: z.enum(["file", "directory", "link", "other"]),
  size: z.number(),
  modifiedAt: z.number(),
});
export type FileEntry = z.infer<typeof fileEntry>;

export const fileList = z.object({ entries: z.array(fileEntry), truncated: z.boolean() });

/** `GET /files/watch?path=`: server-sent; `changed` names paths, at most 200, else `all`. */
export const filesChanged = z.object({ paths: z.array(z.string()), all: z.boolean() });

export const agentLog = z.object({
  lines: z.array(z.object({ number: z.number(), at: z.number(), stream: z.string(), text: z.string() })),
});

/**
 * `POST /quiesce`, body `{}`: stops the agent and everything that it started, so that nothing changes while the sandbox
 * is archived. Answered once all of it stands still; while that holds, again with the same id. What cannot be stopped
 * within seconds goes on, and is named in the refusal. `frozen` is the number of processes. Ends with `POST /resume`,
 * and by itself once no signed request has come for `freezeMilliseconds`.
 */
export const quiesced = z.object({ freezeId: z.string(), frozen: z.number().int() });
export type Quiesced = z.infer<typeof quiesced>;

/** `POST /resume`, body `{}`: false when nothing was frozen. */
export const resumed = z.object({ resumed: z.boolean() });
export type Resumed = z.infer<typeof resumed>;

/** `POST /freeze-holds`: whether nothing of the agent has moved since that `quiesce`. */
export const freezeHoldsInput = z.object({ freezeId: z.string() });
export const freezeHolds = z.object({ holds: z.boolean() });
export type FreezeHolds = z.infer<typeof freezeHolds>;

export const freezeMilliseconds = 30_000;

/** The code of a refusal: the agent is frozen, and so nothing is asked of it. */
export const agentFrozenCode = "agent-frozen";

const runningProcess = z.object({
  pid: z.number().int(),
  /** At most 200 characters. */
  command: z.string(),
  /** Both since the last look at this process, or since its start at the first one; with children that have ended. */
  cpuMilliseconds: z.number(),
  writtenBytes: z.number(),
  startedAt: z.string(),
});

/** `GET /activity`: what goes on besides opencode itself. */
export const sandboxActivity = z.object({
  /** The last look; null at the first one of a boot. */
  since: z.string().nullable(),
  /** At most 50, the busiest first; `more` are left out. */
  processes: z.array(runningProcess),
  more: z.number().int(),
  /** That programs of the agent listen on, without its own; at most 50. */
  ports: z.array(z.number().int()),
  /** In any session's workspace, without what tools make again. */
  lastFileChangeAt: z.string().nullable(),
});
export type SandboxActivity = z.infer<typeof sandboxActivity>;

/** Every refusal of the sidecar. */
export const sidecarProblem = z.object({
  error: z.object({ kind: z.string(), message: z.string(), code: z.string().optional() }),
});

/** The code of a refusal: another server holds the lease by now. */
export const supersededCode = "lease-superseded";
