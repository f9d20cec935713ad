/**
 * A path as the file system has it: bytes, which need not be UTF-8. Kept as a string of one character
 * a byte, so that it can be cut, compared and be a key like any other.
 */
export type RawName = string;

export function rawName(bytes: Uint8Array): RawName {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

export function rawNameOf(text: string): RawName {
  return Buffer.from(text, "utf8").toString("latin1");
}

export function nameBytes(name: RawName): Buffer {
  return Buffer.from(name, "latin1");
}

/** To be shown; bytes that are not UTF-8 become replacement characters. */
export function shownName(name: RawName): string {
  return nameBytes(name).toString("utf8");
}

export function isUtf8Name(name: RawName): boolean {
  return rawNameOf(shownName(name)) === name;
}
