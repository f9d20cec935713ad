import { promisify } from "node:util";
import { createGunzip, gunzipSync, gunzip as gunzipWhole } from "node:zlib";
import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import { drained } from "../drained.ts";
import { codeOf } from "../sidecar-problem.ts";
import { blockSize } from "./block-filler.ts";
import { splitMembers } from "./split-members.ts";
import { workAhead } from "./work-ahead.ts";

const unpackMember = promisify(gunzipWhole);
/** One fewer than the thread pool has threads: that one writes files. */
const atOnce = 3;
/** Of one member, unpacked. */
const maxBlockBytes = 4 * 1024 * 1024;

/**
 * Unpacks while it is read. All of the source is read, also what follows the last member. Members that
 * state their length are unpacked several at once; from the first that does not on it is one stream.
 * While `isCrowded`, other threads have work for all cores: then members are unpacked in this one. A block is good
 * until the next one is asked for.
 */
export async function* gunzip(
  source: AsyncIterable<Uint8Array>,
  isCrowded: () => boolean = () => false,
): AsyncGenerator<Buffer> {
  const { members, release, peek, rest, close } = splitMembers(source);
  let isFirst = true;
  const unpackAndRelease = async (member: Buffer) => {
    const block = await unpack(member, isCrowded());
    release(member);
    return block;
  };
  try {
    for await (const block of workAhead(members, atOnce, unpackAndRelease)) {
      isFirst = false;
      yield block;
      free(block);
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

// One byte more than comes, so that zlib sees the end without asking for another buffer.
const memberOptions = { chunkSize: blockSize + 1, maxOutputLength: maxBlockBytes };

async function unpack(member: Buffer, isHere: boolean): Promise<Buffer> {
  const block = isHere ? gunzipSync(member, memberOptions) : await unpackMember(member, memberOptions);
  // A member that is followed by something else within the length it states would be read otherwise elsewhere.
  if (member.readUInt32LE(member.length - 4) !== block.length) throw damaged();
  return block;
}

/** At once, not when garbage is collected next: that has to run many times otherwise, and finds new memory each time. */
function free({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > blockSize) buffer.transfer(0);
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
