import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface PlainS3 extends Disposable {
  endpoint: string;
  /** How often an object was asked for after it was written. */
  asked: { head: number; get: number };
}

/**
 * An S3 store that takes every body and says so, whatever its checksum. `damages`: it keeps other bytes than it was
 * given. `saysChecksums`: it tells those of what it keeps. One that does neither is believed only after a look.
 */
export async function startPlainS3(options: { damages: boolean; saysChecksums: boolean }): Promise<PlainS3> {
  const objects = new Map<string, Buffer[]>();
  const asked = { head: 0, get: 0 };
  const keep = (bytes: Buffer) => {
    const kept = Buffer.from(bytes);
    if (options.damages) kept[500] = (kept[500] ?? 0) ^ 1;
    return kept;
  };
  const checksum = (parts: Buffer[]) => {
    if (!options.saysChecksums) return null;
    const digests = parts.map((bytes) => createHash("sha256").update(bytes).digest());
    const [only = Buffer.of()] = digests;
    if (digests.length === 1) return only.toString("base64");
    return `${createHash("sha256").update(Buffer.concat(digests)).digest("base64")}-${digests.length}`;
  };

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const body = await wholeBody(request);
    const parts = objects.get(pathname) ?? [];
    const header = (of: Buffer[]) => {
      const text = checksum(of);
      if (text) response.setHeader("x-amz-checksum-sha256", text);
    };
    if (request.method === "POST" && searchParams.has("uploads")) {
      objects.set(pathname, []);
      return response.end("<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>");
    }
    if (request.method === "POST") {
      const text = checksum(parts);
      const told = text ? `<ChecksumSHA256>${text}</ChecksumSHA256>` : "";
      return response.end(`<CompleteMultipartUploadResult>${told}</CompleteMultipartUploadResult>`);
    }
    if (request.method === "PUT") {
      const part = searchParams.get("partNumber");
      const kept = keep(body);
      if (part) parts[Number(part) - 1] = kept;
      else objects.set(pathname, [kept]);
      header([kept]);
      return response.setHeader("etag", '"1"').end();
    }
    if (request.method === "DELETE") return response.writeHead(204).end();
    asked[request.method === "HEAD" ? "head" : "get"] += 1;
    const bytes = Buffer.concat(parts);
    header(parts);
    return response.setHeader("content-length", bytes.length).end(request.method === "HEAD" ? undefined : bytes);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function wholeBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}
