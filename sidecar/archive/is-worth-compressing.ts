import { promisify } from "node:util";
import { deflateRaw } from "node:zlib";

const deflate = promisify(deflateRaw);
/** Odd, so that every byte of the numbers in a table gets its turn. */
const stride = 61;
/** As often as two bytes of a sample would be equal by chance, and a tenth more. */
const chance = 1.1 / 256;
const trialBytes = 32 * 1024;
const leastSaving = 1 / 512;

/**
 * Whether a block gets smaller at all. Pictures, archives and everything encrypted do not, and to try it
 * on all of them takes longer than on anything else. Bytes that are not spread evenly do; where they are,
 * a piece is compressed to see whether it repeats itself.
 */
export async function isWorthCompressing(block: Buffer): Promise<boolean> {
  if (block.length < 4 * trialBytes || !isEven(block)) return true;
  const middle = (block.length - trialBytes) >> 1;
  const trial = await deflate(block.subarray(middle, middle + trialBytes), { level: 1, chunkSize: 2 * trialBytes });
  return trial.length < trialBytes * (1 - leastSaving);
}

function isEven(block: Buffer): boolean {
  const counts = new Uint32Array(256);
  let samples = 0;
  for (let at = 0; at < block.length; at += stride) {
    const byte = block[at] as number;
    counts[byte] = (counts[byte] as number) + 1;
    samples += 1;
  }
  let pairs = 0;
  for (const count of counts) pairs += count * (count - 1);
  return pairs < samples * (samples - 1) * chance;
}
