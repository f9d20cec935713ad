import type { TransformOptions } from "node:stream";
import { constants, createGzip, type ZlibOptions, type ZlibReset } from "node:zlib";

/** Makes gzip members on the thread pool, one at a time. To be closed. */
export interface Compressor {
  compress(block: Buffer): Promise<Buffer>;
  close(): void;
}

/** As many as are needed at once; each is used again. */
export function createCompressors(options: { level: number; blockBytes: number }): Compressor {
  const all = new Set<Compressor>();
  const free: Compressor[] = [];
  return {
    async compress(block) {
      const compressor = free.pop() ?? createCompressor(options);
      all.add(compressor);
      const member = await compressor.compress(block);
      free.push(compressor);
      return member;
    },
    close() {
      for (const compressor of all) compressor.close();
    },
  };
}

/**
 * One zlib stream for many members: to make one for each block, and to collect what is left of it,
 * takes a quarter of all CPU time.
 */
function createCompressor({ level, blockBytes }: { level: number; blockBytes: number }): Compressor {
  const maxBytes = blockBytes + 64 * 1024;
  const options: ZlibOptions & Pick<TransformOptions, "highWaterMark"> = {
    level,
    memLevel: 9,
    // Each block ends its member, in one trip to the thread pool.
    flush: constants.Z_FINISH,
    chunkSize: maxBytes,
    // Nothing is read before the member is whole, so all of it must find room.
    highWaterMark: 2 * maxBytes,
  };
  const stream = createGzip(options) as ReturnType<typeof createGzip> & ZlibReset;
  return {
    compress: (block) =>
      new Promise((resolve, reject) => {
        stream.once("error", reject);
        stream.write(block, (error) => {
          if (error) return;
          stream.off("error", reject);
          const member: Buffer = stream.read();
          stream.reset();
          resolve(member);
        });
      }),
    close: () => stream.destroy(),
  };
}
