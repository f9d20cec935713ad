import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { sql } from "drizzle-orm";
import { createDatabase, type Database } from "../db/client.ts";
import { createAccounts } from "./accounts/create-accounts.ts";
import { createAttemptLimits } from "./auth/attempt-limits.ts";
import { createAdmission } from "./auth/create-admission.ts";
import { readAuthSessionId } from "./auth/read-sign-in.ts";
import { BootError } from "./boot/boot-error.ts";
import { cataloguePath } from "./boot/build-catalogue.ts";
import { deriveKey } from "./boot/master-key.ts";
import type { Config } from "./config.ts";
import { createNetwork } from "./egress/create-network.ts";
import { createFileStore, createFileStoreClaim, type FileStore } from "./file-store/index.ts";
import { createFiles } from "./files/create-files.ts";
import type { DemoPace } from "./gateway/demo-model/create-demo-model.ts";
import { explainDatabase } from "./lib/explain-database.ts";
import type { Logger } from "./lib/logger.ts";
import { createLoop, type Loop } from "./lib/loop.ts";
import { createOutbound } from "./lib/outbound.ts";
import { createSecretBox } from "./lib/secret-box.ts";
import { readHomeId } from "./lifecycle/read-home-id.ts";
import { createLiveStreams } from "./live/index.ts";
import { announceModels } from "./models/announce-models.ts";
import { createModels } from "./models/create-models.ts";
import { createTurnCosts } from "./models/create-turn-costs.ts";
import { loadModelCatalogue } from "./models/model-catalogue.ts";
import { createSandboxes } from "./sandboxes/create-sandboxes.ts";
import { createSidecarClient } from "./sandboxes/create-sidecar-client.ts";
import type { Services } from "./services.ts";
import { createSessionLog } from "./sessions/create-session-log.ts";
import { createSessions } from "./sessions/create-sessions.ts";
import { createLogHub } from "./sessions/log-hub.ts";
import { createArchives } from "./snapshots/create-archives.ts";
import { createSnapshots } from "./snapshots/create-snapshots.ts";
import type { CreateAgentClient } from "./turns/agent-connections.ts";
import { createTurns } from "./turns/create-turns.ts";
import { releaseSession } from "./turns/release-session.ts";
import type { TurnLimits } from "./turns/turn-context.ts";
import { wireSandboxes } from "./wire-sandboxes.ts";

export interface WiringInput {
  config: Config;
  /** The directory of this project. */
  root: string;
  /** Whose lock this process holds. */
  home: string;
  applicationUrl: string;
  masterKey: Buffer;
  /**
   * Called once nothing can refuse the start any more: from then on database and file store belong to the master
   * key. Before, nothing is written.
   */
  claim?(): Promise<void>;
  publicUrl: string;
  logger: Logger;
  stopping: AbortSignal;
  /** For tests of several servers that share a home, as others share a cluster: then they are no predecessors of each other. */
  homeId?: string;
  /** Tests put themselves between the server and its database here. */
  createDatabase?: typeof createDatabase;
  /** Instead of those of wire-backends.ts; for tests of a backend of their own. */
  backends?: Parameters<typeof wireSandboxes>[0]["backends"];
  /** Tests put themselves between the server and its sandboxes here. */
  createSidecarClient?: typeof createSidecarClient;
  /** For tests that let the demo model speak word by word. */
  demoPace?: DemoPace | undefined;
  /** For tests that let calls to the agent fail. */
  createAgentClient?: CreateAgentClient | undefined;
  /** For tests that cannot wait as long as people can. */
  turnLimits?: Partial<TurnLimits> | undefined;
}

export interface Wiring {
  services: Services;
  loops: Loop[];
  /** While the first run is due and the code was made here: whoever reads the terminal is to have it. */
  setupCode: string | null;
  /** `/api/llm/*`; true when the request was its own. */
  serveModelCalls(request: IncomingMessage, response: ServerResponse): boolean;
  /** The streams of session events; true when the request was for one. */
  serveStreams(request: IncomingMessage, response: ServerResponse): boolean;
  isDatabaseAway(): boolean;
  /** Takes over what a predecessor left running. After this, turns go on. */
  resume(signal: AbortSignal): Promise<void>;
  /** In this order: turns are left as they are, sandboxes put to sleep or left, the rest closed. */
  closeTurns(): Promise<void>;
  closeSandboxes(): Promise<void>;
  /** Instead: leases are let go of and the sandboxes run on, for a server that starts next. */
  abandonSandboxes(): Promise<void>;
  close(): Promise<void>;
}

const sweepEveryMilliseconds = 60 * 60_000;
const sweepTurnsEveryMilliseconds = 5_000;
const archiveEveryMilliseconds = 15 * 60_000;
const claimMilliseconds = 5_000;

/** The composition root: alone makes adapters and hands them to those who use them. */
export async function wire(input: WiringInput): Promise<Wiring> {
  const { config, masterKey, logger, publicUrl, stopping } = input;
  const database = explainDatabase((input.createDatabase ?? createDatabase)(input.applicationUrl, { stopping }));
  const secretBox = createSecretBox(deriveKey(masterKey, "stored-secrets"));
  const catalogue = await loadModelCatalogue(cataloguePath(input.root), logger);
  const { permits, ...network } = createNetwork({ database, server: config.egress });
  const sandboxes = await wireSandboxes({
    createSidecarClient,
    ...input,
    database,
    secretBox,
    catalogue,
    permits,
  }).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const { gateway, isolation } = sandboxes;
  const limits = createAttemptLimits(database);
  const setupCode = config.setupCode ?? makeSetupCode(masterKey);
  const accounts = createAccounts({ database, limits, publicUrl, setupCode, isolation });

  const fileStore = await openFileStore({ ...input, database });
  const homeId = await readHomeId(input.home);
  const outbound = createOutbound(config.proxy);
  const hub = createLogHub();
  const log = createSessionLog({ database, hub, homeId });
  const onSessionChanged = (sessionId: string) =>
    void log.notifyViewers(sessionId).catch((error: unknown) => {
      logger.warn({ err: error, sessionId }, "Viewers were not told about a snapshot");
    });
  const storing = { database, fileStore, logger, onSessionChanged };
  const archives = createArchives(storing);
  const lifecycle = sandboxes.wireLifecycle({
    archives,
    homeId,
    onHomesChanged: () => hub.tellAll((viewer) => viewer.onState()),
  });
  const { createAgentClient, turnLimits } = input;
  const costs = createTurnCosts({ database, catalogue, logger });
  const turns = createTurns({
    database,
    log,
    lifecycle,
    archives,
    costs,
    logger,
    limits: turnLimits,
    createAgentClient,
  });
  const snapshots = createSnapshots({ ...storing, archives, lifecycle });
  const files = createFiles({ database, lifecycle, archives, hub });
  const sessions = createSessions({
    database,
    log,
    release: releaseSession({ turns, lifecycle, archives }),
    onRemoved: (sandbox) => lifecycle.tellHolder(sandbox),
    onReleaseFailed: (error, sessionId) =>
      logger.warn({ err: error, sessionId }, "A session was deleted, but not from its sandbox"),
  });

  const services: Services = {
    publicUrl,
    signInSecret: deriveKey(masterKey, "sign-in").toString("base64url"),
    accounts,
    admission: createAdmission({ database, limits }),
    models: announceModels(createModels({ database, secretBox, outbound, catalogue }), (tenantId) =>
      lifecycle.applyModels(tenantId),
    ),
    network,
    sandboxes: createSandboxes({ database, lifecycle }),
    sessions,
    log,
    turns,
    files,
    snapshots,
    stopping,
    requireReady: () => database.ping(),
    reportError(error) {
      const reference = randomBytes(5).toString("hex");
      logger.error({ reference, err: error }, "unexpected error");
      return reference;
    },
  };

  const streams = createLiveStreams({ ...services, readAuthSessionId });

  const sweep = createLoop({
    name: "sweep-expired",
    everyMilliseconds: sweepEveryMilliseconds,
    logger,
    run: async () => {
      await database.transaction("nobody", (tx) => tx.execute(sql`select sweep_expired()`));
    },
  });

  const sweepTurns = createLoop({
    name: "sweep-turns",
    everyMilliseconds: sweepTurnsEveryMilliseconds,
    logger,
    run: () => turns.sweep(),
  });

  const archiveRunning = createLoop({
    name: "archive-running",
    everyMilliseconds: archiveEveryMilliseconds,
    logger,
    run: async (signal) => {
      for (const sandbox of lifecycle.listRunning()) {
        signal.throwIfAborted();
        await archives.archiveSandbox(sandbox, { gently: true, signal }).catch((error: unknown) => {
          // One that was lost meanwhile is archived by whoever holds it next.
          if (signal.aborted || sandbox.signal.aborted) return;
          logger.error({ err: error, sandboxId: sandbox.sandboxId }, "A sandbox was not archived");
        });
      }
    },
  });

  const sweepArchives = createLoop({
    name: "sweep-archives",
    everyMilliseconds: sweepEveryMilliseconds,
    logger,
    run: (signal) => archives.sweep(signal),
  });

  return {
    services,
    loops: [sweep, sweepTurns, archiveRunning, sweepArchives],
    setupCode: config.setupCode === null && (await accounts.firstRun()) ? setupCode : null,
    serveModelCalls: (request, response) => gateway.handle(request, response),
    serveStreams: (request, response) => streams.handle(request, response),
    isDatabaseAway: () => database.isAway(),
    async resume(signal) {
      await lifecycle.adopt(signal);
      await turns.resume(signal);
    },
    closeTurns: () => turns.close(),
    closeSandboxes: () => lifecycle.close({ terminate: true }),
    abandonSandboxes: () => lifecycle.close({ terminate: false }),
    async close() {
      files.close();
      await Promise.all([gateway.close(), log.close(), outbound.destroy()]);
      await sandboxes.close();
      await fileStore.close();
      await database.close();
    },
  };
}

/** A store that does not answer is none of a start's business; one that answers as another's is. */
async function openFileStore(
  input: Pick<WiringInput, "config" | "masterKey" | "logger" | "stopping" | "claim"> & { database: Database },
): Promise<FileStore> {
  const { config, masterKey, logger, stopping, database } = input;
  const fileStore = await createFileStore(config.fileStore);
  const installation = deriveKey(masterKey, "installation").toString("hex");
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(claimMilliseconds)]);
  const owner = createFileStoreClaim({
    database,
    fileStore,
    installation,
    acceptNew: config.acceptNewFileStore,
    signal,
  });
  const unanswered = (error: unknown) => {
    stopping.throwIfAborted();
    logger.warn({ err: error }, "The file store could not be checked for its owner");
    return null;
  };
  const found = await owner.look().catch(unanswered);
  if (found === "another" || found === "missing") {
    await database.close();
    throw anotherStore(config.fileStore, found);
  }
  await input.claim?.();
  if (found === "unclaimed") await owner.claim().catch(unanswered);
  return fileStore;
}

function anotherStore(fileStore: Config["fileStore"], found: "another" | "missing"): BootError {
  const at = fileStore.kind === "s3" ? `bucket ${fileStore.bucket}` : fileStore.root;
  const what =
    found === "another"
      ? `The file store (${at}) belongs to another installation of Dormouse.`
      : `The file store (${at}) is not the one that holds this installation's archives: perhaps its disk is not mounted.`;
  return new BootError(
    `${what} Set the right one in DORMOUSE_FILE_STORE_ROOT or DORMOUSE_S3_BUCKET. If that is gone for good, start once with DORMOUSE_FILE_STORE_NEW=true: archives that are not in the new one are then lost.`,
  );
}

/** The same on every replica and after a restart, and readable aloud: no letter looks like a digit. */
function makeSetupCode(masterKey: Buffer): string {
  const letters = "ABCDEFGHJKMNPQRSTVWXYZ23456789";
  const code = [...deriveKey(masterKey, "set-up-code").subarray(0, 12)].map((byte) => letters[byte % letters.length]);
  return [code.slice(0, 4), code.slice(4, 8), code.slice(8)].map((part) => part.join("")).join("-");
}
