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

export function isUtf8Name(name: RawName): boolean {
  return rawNameOf(utf8(name)) === name;
}

/**
 * The one way in which names leave as text, in answers, addresses and pages: UTF-8 as it is, and each byte that is
 * none as a replacement character (U+FFFD) and the byte in hexadecimal: `caf\ufffde9`. A replacement character that a
 * name really has is written byte by byte too, so that no two names are ever written alike.
 */
export function writtenName(name: RawName): string {
  const text = utf8(name);
  if (!text.includes(replacement)) return text;
  return name.replace(pieces, (piece) => {
    const shown = utf8(piece);
    return shown.includes(replacement) ? piece.replace(/./gs, escaped) : shown;
  });
}

/** The name that is written so; null for what nothing is written as, such as another way to write the same name. */
export function readName(written: string): RawName | null {
  const parts = written.split(/\ufffd([0-9a-f]{2})/);
  const name = parts.map((part, index) => (index % 2 ? unescaped(part) : rawNameOf(part))).join("");
  return writtenName(name) === written ? name : null;
}

const replacement = "\ufffd";
/** A character of UTF-8 each, all that is ASCII at once, and single bytes that belong to none. */
const pieces = /[\0-\x7f]+|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g;

const utf8 = (name: RawName) => nameBytes(name).toString("utf8");
const escaped = (byte: string) => `${replacement}${byte.charCodeAt(0).toString(16).padStart(2, "0")}`;
const unescaped = (hexadecimal: string) => String.fromCharCode(Number.parseInt(hexadecimal, 16));
