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
  const name = path.split("/").at(-1) || "file";
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, {
    status,
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `${download ? "attachment" : "inline"}; ${fileNameParameters(name)}`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      ...headers,
    },
  });
}

/**
 * The name as it is, by RFC 8187, which is stricter than a part of an address; before it, for programs that do not
 * know that form, the same in plain signs.
 */
function fileNameParameters(name: string): string {
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const plain = name.replaceAll(/[^\w .,=+~!#$&'()@^{}-]/gu, "_");
  return `filename="${plain}"; filename*=UTF-8''${exact}`;
}
