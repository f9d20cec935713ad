import { type Refusal, refusal } from "./refusal.ts";

const notAnAddress = refusal("invalid-input", "This address is not valid. Check that it is complete.");

/** The path that a request asks for, or why it cannot be asked for. Queries are read by those who use them. */
export function readTarget(url: string): { path: string; refused: Refusal | null } {
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? "" : url.slice(at);
  // One slash: what stands after two is a host to those who read it as an address.
  const isPath = path.startsWith("/") && !path.startsWith("//") && URL.canParse(url, "http://here.invalid");
  const isReadable = isPath && decode(path)?.includes("\0") === false && !query.includes("%00");
  return { path, refused: isReadable ? null : notAnAddress };
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}
