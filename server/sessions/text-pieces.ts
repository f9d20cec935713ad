import { endsInHalfPair } from "../lib/clean-text.ts";
import { maxTextPerEntry } from "../protocol/log-entry.ts";

/** As much of `text` as fits into `room` units, never half a surrogate pair; perhaps nothing. */
export function takePiece(text: string, room: number): string {
  if (text.length <= room) return text;
  const piece = text.slice(0, room);
  return endsInHalfPair(piece) ? piece.slice(0, -1) : piece;
}

/** Where text is cut does not depend on how it arrived, so that a cumulative text falls into the same entries. */
export function splitText(text: string): string[] {
  const pieces: string[] = [];
  for (let rest = text; rest.length > 0; ) {
    const piece = takePiece(rest, maxTextPerEntry);
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces.length > 0 ? pieces : [""];
}
