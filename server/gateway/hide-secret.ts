import { Transform } from "node:stream";

/**
 * Replaces a secret in what passes, also where it falls between two chunks. Nothing else is held back:
 * only an end that could be the secret's beginning waits for the next chunk.
 */
export function hideSecret(secret: string): Transform {
  const wanted = Buffer.from(secret);
  const shown = Buffer.from("*".repeat(wanted.length));
  let held: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const all = Buffer.concat([held, chunk]);
      for (let at = all.indexOf(wanted); at !== -1; at = all.indexOf(wanted, at + wanted.length)) shown.copy(all, at);
      const keep = beginningAtEnd(all, wanted);
      held = all.subarray(all.length - keep);
      done(null, all.subarray(0, all.length - keep));
    },
    flush(done) {
      done(null, held);
    },
  });
}

/** How many of the last bytes could be the beginning of what is wanted. */
function beginningAtEnd(bytes: Buffer, wanted: Buffer): number {
  for (let length = Math.min(wanted.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(wanted.subarray(0, length))) return length;
  }
  return 0;
}
