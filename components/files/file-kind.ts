export const maxShownBytes = 1024 * 1024;

const pictures = new Map(
  Object.entries({
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    avif: "image/avif",
    svg: "image/svg+xml",
    ico: "image/x-icon",
    bmp: "image/bmp",
  }),
);

/** The media type of a picture, by its name; null for anything else. */
export function pictureType(path: string): string | null {
  return pictures.get(path.toLowerCase().split(".").at(-1) ?? "") ?? null;
}

/** Text, or null for bytes that are none: a NUL does not stand in text, and UTF-8 does not break. */
export function asText(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, 8192).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The sidecar names paths from the workspace's root; people know them from the session's directory. */
export function fromSession(path: string, sessionId: string): string {
  const root = `sessions/${sessionId}/`;
  return path.startsWith(root) ? path.slice(root.length) : path;
}

/** Folders whose content a change of these paths may have changed. */
export function foldersTouched(paths: readonly string[]): Set<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    const parts = path.split("/");
    for (let length = parts.length; length >= 0; length -= 1) folders.add(parts.slice(0, length).join("/"));
  }
  return folders;
}
