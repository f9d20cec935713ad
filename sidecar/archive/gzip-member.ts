/**
 * A gzip member of an archive of ours, whose header says how long the member is. The field for such
 * things is part of gzip, and every gunzip passes over what it does not know; ours finds the next
 * member by it without unpacking this one, so that several are unpacked at once.
 */
const plainHeaderBytes = 10;
const extra = { flag: 4, bytes: 8, name: "Dm", dataBytes: 4 };
export const memberHeaderBytes = plainHeaderBytes + 2 + extra.bytes;

/** Takes a member as zlib makes it, without any optional field. */
export function statingItsLength(member: Buffer): Buffer {
  const header = Buffer.alloc(memberHeaderBytes);
  member.copy(header, 0, 0, plainHeaderBytes);
  header.writeUInt8(extra.flag, 3);
  header.writeUInt16LE(extra.bytes, 10);
  header.write(extra.name, 12, "latin1");
  header.writeUInt16LE(extra.dataBytes, 14);
  header.writeUInt32LE(member.length - plainHeaderBytes + memberHeaderBytes, 16);
  return Buffer.concat([header, member.subarray(plainHeaderBytes)]);
}

/** From the first bytes of a member; null for one that does not say it in our way. */
export function statedLength(start: Buffer): number | null {
  const isOurs =
    start.length >= memberHeaderBytes &&
    start.readUInt16BE(0) === 0x1f8b &&
    start[3] === extra.flag &&
    start.readUInt16LE(10) === extra.bytes &&
    start.toString("latin1", 12, 14) === extra.name &&
    start.readUInt16LE(14) === extra.dataBytes;
  return isOurs ? start.readUInt32LE(16) : null;
}
