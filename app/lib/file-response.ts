import { Readable } from "node:stream";

interface FileAnswer {
  /** Its last part names the file. */
  path: string;
  download: boolean;
  status?: number;
  headers?: Record<string, string>;
}

/**
 * A file that an agent may have written. It must never run in this origin: it is sent as plain bytes that
 * no browser shows, in a sandbox of the browser's own should one try.
 */
export function fileResponse(body: Readable, { path, download, status = 200, headers }: FileAnswer): Response {
  const name = headerValue(path.split("/").at(-1) || "file");
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, {
    status,
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `${download ? "attachment" : "inline"}; filename*=UTF-8''${name}`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      ...headers,
    },
  });
}

/** As RFC 8187 wants it: stricter than a part of an address. */
function headerValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
