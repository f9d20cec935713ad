import { createGunzip } from "node:zlib";
import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import { drained } from "../drained.ts";
import { codeOf } from "../problem.ts";

/** Unpacks while it is read. All of the source is read, also what follows the last member. */
export async function* gunzip(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
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
  } catch (error) {
    if (codeOf(error)?.startsWith("Z_")) {
      throw new ArchiveRefusal("invalid-input", "The archive is damaged: it is not gzip, or was cut.");
    }
    throw error;
  } finally {
    stopped = true;
    unpacking.destroy();
  }
}
