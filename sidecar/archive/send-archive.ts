import type { ArchiveNote } from "../../server/protocol/archive/archive-answers.ts";
import type { RawName } from "../../server/protocol/archive/raw-name.ts";
import type { Exchange } from "../door/exchange.ts";
import { createArchiveNotes } from "./archive-notes.ts";
import { createBlockPool } from "./block-filler.ts";
import { gzipBlocks } from "./gzip-blocks.ts";
import { requireWithin, type TreeMeasure } from "./measure-tree.ts";
import { type PackOptions, packTree } from "./pack-tree.ts";

/** Copies that stand for files which cannot be read as they are; removed when the archive is made. */
export interface Copies extends AsyncDisposable {
  byName: ReadonlyMap<RawName, string>;
}

export interface SendOptions extends Omit<PackOptions, "pool" | "notes" | "signal" | "replaced"> {
  /** As it is called in a refusal. */
  what: string;
  isEmpty: boolean;
  makeCopies?(): Promise<Copies>;
  /** Makes the disk remember this archive; called with all of it read. */
  remember?(): Promise<void>;
}

/**
 * Streams a directory as an archive; answers 204 where there is nothing in it (ARCHITECTURE.md, invariants 8, 21), and 304 where it
 * has the fingerprint that was given. The note has the fingerprint of when it was measured, before
 * anything was read. Everything is cleaned up before the last byte: whoever has it may ask again.
 */
export async function sendArchive(exchange: Exchange, measure: TreeMeasure, options: SendOptions): Promise<void> {
  const { what, isEmpty, makeCopies, remember, ...pack } = options;
  if (isEmpty) return exchange.empty(204);
  if (exchange.query.get("unless") === measure.fingerprint) return exchange.empty(304);
  requireWithin(measure, pack.limits, what);
  const pool = createBlockPool();
  const notes = createArchiveNotes();
  let remembered = false;
  async function* archive(): AsyncGenerator<Buffer> {
    await using copies = await makeCopies?.();
    const replaced = copies ? { replaced: copies.byName } : {};
    const blocks = packTree({ ...pack, ...replaced, pool, notes, signal: exchange.signal });
    yield* gzipBlocks(blocks, pool, { gently: exchange.query.has("gently") });
    // A full disk is no reason to go without an archive: then it is one that nothing is concluded from.
    remembered =
      (await remember?.().then(
        () => true,
        () => false,
      )) ?? false;
  }
  await exchange.download({ "content-type": "application/gzip" }, archive(), () => {
    const { entries, bytes, leftOutCount: leftOut, changedCount: changed } = notes.manifest();
    const note: ArchiveNote = { fingerprint: measure.fingerprint, entries, bytes, leftOut, changed, remembered };
    return JSON.stringify(note);
  });
}
