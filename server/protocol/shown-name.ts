/** A piece of a name as people see it: as it is, or spelt out since it could not be seen or not be told from another. */
export interface NamePiece {
  text: string;
  isSpelt: boolean;
}

/** From a name or path as it is written (`archive/raw-name.ts`). Joined they are one text for each name. */
export function toNamePieces(written: string): NamePiece[] {
  const pieces: NamePiece[] = [];
  let end = 0;
  for (const match of written.matchAll(strange)) {
    const [sign] = match;
    if (match.groups?.emoji !== undefined) continue;
    if (match.index > end) pieces.push({ text: written.slice(end, match.index), isSpelt: false });
    pieces.push({ text: spelt(sign), isSpelt: true });
    end = match.index + sign.length;
  }
  if (end < written.length) pieces.push({ text: written.slice(end), isSpelt: false });
  return pieces;
}

export function shownName(written: string): string {
  return toNamePieces(written)
    .map(({ text }) => text)
    .join("");
}

/**
 * Backslashes, since they begin what is spelt out; bytes that are not UTF-8; blanks at the beginning or end of a name
 * and those that are not the common one; whatever controls, has no look of its own, or turns the direction of others.
 */
const strange =
  /(?<emoji>\p{RGI_Emoji})|\\|\ufffd[0-9a-f]{2}|(?<=^|\/) +| +(?=$|\/)|[\p{Zs}--[ ]]|[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gv;

const common: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function spelt(sign: string): string {
  if (sign.startsWith("\ufffd")) return `\\x${sign.slice(1)}`;
  if (sign.startsWith(" ")) return "\\x20".repeat(sign.length);
  const code = sign.codePointAt(0) ?? 0;
  return common[sign] ?? (code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`);
}
