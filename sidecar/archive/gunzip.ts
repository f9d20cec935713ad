import { promisify } from "node:util";
import { createGunzip, gunzip as gunzipWhole } from "node:zlib";
import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import { drained } from "../drained.ts";
import { codeOf } from "../problem.ts";
import { blockSize } from "./block-filler.ts";
import { splitMembers } from "./split-members.ts";
import { workAhead } from "./work-ahead.ts";

const unpackMember = promisify(gunzipWhole);
/** One fewer than the thread pool has threads: that one writes files. */
const atOnce = 3;
/** Of one member, unpacked. */
const mostBlockBytes = 4 * 1024 * 1024;

/**
 * Unpacks while it is read. All of the source is read, also what follows the last member. Members that
 * state their length are unpacked several at once; from the first that does not on it is one stream.
 */
export async function* gunzip(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const { members, peek, rest, close } = splitMembers(source);
  let isFirst = true;
  try {
    for await (const block of workAhead(members, atOnce, unpack)) {
      isFirst = false;
      yield block;
    }
    // Members may be followed by zeros that fill up a tape, which the stream by itself would take for a damaged one.
    const isOver = !isFirst && ((await peek(1))[0] ?? 0) === 0;
    if (isOver) for await (const _zeros of rest);
    else yield* gunzipStream(rest);
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code.startsWith("Z_") || code === "ERR_BUFFER_TOO_LARGE") throw damaged();
    throw error;
  } finally {
    close();
  }
}

async function unpack(member: Buffer): Promise<Buffer> {
  // One byte more than comes, so that zlib sees the end without asking for another buffer.
  const block = await unpackMember(member, { chunkSize: blockSize + 1, maxOutputLength: mostBlockBytes });
  // A member that is followed by something else within the length it states would be read otherwise elsewhere.
  if (member.readUInt32LE(member.length - 4) !== block.length) throw damaged();
  return block;
}

function damaged(): ArchiveRefusal {
  return new ArchiveRefusal("invalid-input", "The archive is damaged: it is not gzip, or was cut.");
}

async function* gunzipStream(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacking = createGunzip({ chunkSize: 256 * 1024 });
  // Errors are seen by whoever reads.
  unpacking.on("error", () => {});
  let stopped = false;
  const pumping = (async () => {
    for await (const chunk of source) {
      if (stopped) return;
      if (unpacking.destroyed || unpacking.readableEnded) continue;
      if (!unpacking.write(chunk)) await drained(unpacking);
    }
    unpacking.end();
  })();
  pumping.catch((error: Error) => unpacking.destroy(error));
  try {
    for await (const chunk of unpacking) yield chunk as Buffer;
    await pumping;
  } finally {
    stopped = true;
    unpacking.destroy();
  }
}
