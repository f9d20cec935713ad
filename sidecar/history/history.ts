import { statfs } from "node:fs/promises";
import { join } from "node:path";
import {
  archiveRoots,
  type HistoryRestored,
  type HistoryState,
  type HomeRestored,
  historyPreparation,
} from "../../server/protocol/archive/archive-answers.ts";
import { archiveIdIn, type KnownArchives } from "../archive/known-archives.ts";
import { measureTree, type TreeLimits } from "../archive/measure-tree.ts";
import { isRegenerable } from "../archive/regenerable.ts";
import { restoreDirectory } from "../archive/restore-directory.ts";
import { sendArchive } from "../archive/send-archive.ts";
import type { Reach } from "../archive/swap-directory.ts";
import type { Exchange } from "../door/exchange.ts";
import { parseJson } from "../door/read-body.ts";
import type { Exclusive } from "../exclusive.ts";
import type { Layout } from "../layout.ts";
import { Problem } from "../sidecar-problem.ts";
import { createDatabaseCheck } from "./database.ts";
import { forgetOlder } from "./forget-older.ts";
import { copyDatabases, hasDatabase, historyTraces, historyWalk, setDamagedAside } from "./history-files.ts";
import type { HistoryMarker } from "./history-marker.ts";

/**
 * The agent's history and HOME as archives. Until the gate opens they can only be restored, from then
 * on only be archived: nothing is ever put under a running agent, and what was not restored yet is
 * never archived.
 */
export interface History {
  create(exchange: Exchange): Promise<void>;
  restore(exchange: Exchange): Promise<void>;
  /** The gate closed: what a reset made forgotten goes, and it is said what the disk has. Idempotent. */
  prepare(exchange: Exchange): Promise<void>;
  createHome(exchange: Exchange): Promise<void>;
  restoreHome(exchange: Exchange): Promise<void>;
  /** Opens the gate where there is nothing to restore. Idempotent. */
  skip(exchange: Exchange): Promise<void>;
}

export interface HistoryOptions {
  layout: Layout;
  marker: HistoryMarker;
  gate: { readonly gate: "closed" | "open"; open(): Promise<void> };
  exclusive: Exclusive;
  known: KnownArchives;
  report(message: string): void;
  reach?: Reach;
}

const maxEntries = 2_000_000;
const homeLimits: TreeLimits = { maxBytes: 4 * 1024 ** 3, maxEntries: 300_000 };
const beforeStart = "The agent's start";

export function createHistory(options: HistoryOptions): History {
  const { layout, marker, gate, exclusive, known, report, reach } = options;
  const damagedHistory = join(layout.managed, "damaged-history");
  let skipping: Promise<void> | null = null;

  function requireOpen(): void {
    if (gate.gate === "open") return;
    throw new Problem("conflict", "The agent's history has not been restored yet, so it is not archived.");
  }

  async function whyKept(): Promise<string | null> {
    if (gate.gate === "open") return "The agent is already running.";
    const outcome = await marker.find();
    return outcome && `The history of this boot was already ${outcome}.`;
  }

  /** Bounded by its volume alone; a file that claims to be larger than that is made of holes. */
  async function historyLimits(): Promise<TreeLimits> {
    const { blocks, bsize } = await statfs(layout.root);
    return { maxBytes: blocks * bsize, maxEntries };
  }

  async function checkDisk(): Promise<string | null> {
    if (!(await hasDatabase(layout.history))) return null;
    await using databases = createDatabaseCheck();
    const { damage } = await setDamagedAside(layout.history, damagedHistory, databases);
    if (damage) report(`The agent's history on the disk is damaged and was set aside: ${damage}`);
    return damage;
  }

  /** The subject as archives name it. */
  function remembering(exchange: Exchange, subject: "history" | "home") {
    const id = archiveIdIn(exchange.query, "archive");
    return id ? { remember: () => known.add(subject, id) } : {};
  }

  async function passOver(exchange: Exchange, subject: "history" | "home"): Promise<void> {
    const id = archiveIdIn(exchange.query, "knows");
    if (id) await known.add(subject, id);
  }

  const keepIn = (exchange: Exchange, subject: "history" | "home") =>
    exchange.query.has("keep") ? join(layout.replaced, subject) : null;

  return {
    async create(exchange) {
      await exchange.body();
      requireOpen();
      const remember = remembering(exchange, "history");
      await exclusive.run("The agent's history", async () => {
        const limits = await historyLimits();
        const traces = await measureContent(historyTraces(layout.history), exchange.signal);
        await sendArchive(exchange, traces, {
          what: "The agent's history",
          isEmpty: traces.files === 0,
          walk: historyWalk(layout.history),
          makeCopies: () => copyDatabases({ root: layout.history, temporary: layout.temporary }),
          limits,
          rootName: archiveRoots.history,
          withManifest: false,
          ...remember,
        });
      });
    },
    async restore(exchange) {
      const body = exchange.upload();
      const answer = await exclusive.run<HistoryRestored>(beforeStart, async () => {
        const kept = await whyKept();
        if (kept) return { outcome: "kept", cause: kept, fingerprint: null };
        let damage: string | null = null;
        await using check = createDatabaseCheck();
        const { fingerprint } = await restoreDirectory({
          source: body,
          directory: layout.history,
          rootName: archiveRoots.history,
          unrelated: "ignore",
          limits: await historyLimits(),
          signal: exchange.signal,
          keepIn: keepIn(exchange, "history"),
          async inspect(staged) {
            const inspected = await setDamagedAside(staged, damagedHistory, check);
            damage = inspected.damage;
            return inspected;
          },
          ...(reach ? { reach } : {}),
        });
        if (damage) report(`The restored history is damaged and was set aside: ${damage}`);
        await passOver(exchange, "history");
        await marker.set(damage ? "fresh" : "restored");
        return { outcome: damage ? "fresh" : "restored", cause: damage, fingerprint: damage ? null : fingerprint };
      });
      await gate.open();
      exchange.json(200, answer);
    },
    async prepare(exchange) {
      const { check, ...epochs } = parseJson(await exchange.body(), historyPreparation);
      const state = await exclusive.run<HistoryState>(beforeStart, async () => {
        if (await whyKept()) throw new Problem("conflict", "The agent's history was already prepared.");
        await forgetOlder(layout, epochs);
        const damage = check ? await checkDisk() : null;
        const home = await measureContent(homeWalk(layout.home), exchange.signal);
        return {
          hasHistory: await hasDatabase(layout.history),
          hasHome: home.files > 0,
          known: { history: await known.list("history"), home: await known.list("home") },
          damage,
        };
      });
      exchange.json(200, state);
    },
    async createHome(exchange) {
      await exchange.body();
      requireOpen();
      const remember = remembering(exchange, "home");
      await exclusive.run("HOME", async () => {
        const walk = homeWalk(layout.home);
        const measure = await measureContent(walk, exchange.signal);
        await sendArchive(exchange, measure, {
          what: "HOME",
          isEmpty: measure.files === 0,
          walk,
          limits: homeLimits,
          rootName: archiveRoots.home,
          withManifest: true,
          ...remember,
        });
      });
    },
    async restoreHome(exchange) {
      const body = exchange.upload();
      const answer = await exclusive.run<HomeRestored>(beforeStart, async () => {
        const kept = await whyKept();
        if (kept) return { outcome: "kept", cause: kept, fingerprint: null };
        const { fingerprint } = await restoreDirectory({
          source: body,
          directory: layout.home,
          rootName: archiveRoots.home,
          unrelated: "refuse",
          limits: homeLimits,
          signal: exchange.signal,
          keepIn: keepIn(exchange, "home"),
          ...(reach ? { reach } : {}),
        });
        await passOver(exchange, "home");
        return { outcome: "restored", cause: null, fingerprint };
      });
      exchange.json(200, answer);
    },
    async skip(exchange) {
      await exchange.body();
      if (gate.gate === "open") return;
      skipping ??= exclusive
        .run(beforeStart, async () => {
          await passOver(exchange, "history");
          if (!(await marker.find())) await marker.set("skipped");
          await gate.open();
        })
        .finally(() => {
          skipping = null;
        });
      await skipping;
    },
  };
}

function homeWalk(root: string): Parameters<typeof measureContent>[0] {
  // Trees of packages that tools fetch again; what a person put into HOME stays.
  const fetched = new Set([".cargo/registry", ".cargo/git", ".rustup", ".m2/repository", ".nuget/packages", "go/pkg"]);
  const declined = ".config/opencode/package-lock.json";
  const caches = new Set([".bun/install/cache", ".local/share/pnpm", ".local/share/Trash", ".yarn/berry/cache"]);
  return {
    root,
    leaveOut({ name, path, status }) {
      const isFetched = fetched.has(name) || caches.has(name) || isRegenerable(name, path);
      return name === declined || (status.isDirectory() && isFetched) ? "regenerable" : null;
    },
  };
}

async function measureContent(walk: Parameters<typeof measureTree>[0], signal: AbortSignal) {
  let files = 0;
  const measure = await measureTree(
    {
      ...walk,
      onEntry({ kind }) {
        if (kind !== "directory") files += 1;
      },
    },
    signal,
  );
  return { ...measure, files };
}
