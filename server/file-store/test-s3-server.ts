import { createHash } from "node:crypto";
import { buildApp } from "fauxqs";

/*
 * A process of its own, so that its memory and its event loop are not those of what it tests. fauxqs keeps checksums
 * but believes them, and cannot list unfinished uploads: both are added here, as AWS has them.
 */
interface Request {
  method: string;
  url: string;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

interface Reply {
  statusCode: number;
  status(code: number): Reply;
  type(contentType: string): Reply;
  send(payload: string): Reply;
}

const app = buildApp({ logger: false });
const uploads = new Map<string, { bucket: string; key: string; initiated: Date }>();

app.addHook("preHandler", async (request: Request, reply: Reply) => {
  const claimed = request.headers["x-amz-checksum-sha256"];
  if (typeof claimed === "string" && Buffer.isBuffer(request.body)) {
    const found = createHash("sha256").update(request.body).digest("base64");
    if (found !== claimed) return refuse(reply, 400, "BadDigest");
  }
  const url = new URL(request.url, "http://localhost");
  if (request.method !== "GET" || !url.searchParams.has("uploads")) return;
  const bucket = url.pathname.split("/")[1];
  const { statusCode } = await app.inject({ method: "HEAD", url: `/${bucket}` });
  if (statusCode === 404) return refuse(reply, 404, "NoSuchBucket");
  const listed = [...uploads]
    .filter(([, upload]) => upload.bucket === bucket)
    .map(
      ([id, { key, initiated }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
    );
  const answer = `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${listed.join("")}</ListMultipartUploadsResult>`;
  return reply.type("application/xml").send(answer);
});

app.addHook("onSend", async (request: Request, reply: Reply, payload: unknown) => {
  const url = new URL(request.url, "http://localhost");
  const [, bucket = "", ...key] = decodeURIComponent(url.pathname).split("/");
  const id = url.searchParams.get("uploadId");
  const begun = request.method === "POST" && /<UploadId>(.*?)<\/UploadId>/.exec(String(payload))?.[1];
  if (begun && url.searchParams.has("uploads"))
    uploads.set(begun, { bucket, key: key.join("/"), initiated: new Date() });
  if (id && reply.statusCode < 300 && (request.method === "DELETE" || request.method === "POST")) uploads.delete(id);
  return payload;
});

function refuse(reply: Reply, status: number, code: string): Reply {
  return reply.status(status).type("application/xml").send(`<Error><Code>${code}</Code></Error>`);
}

// Its standard input ends with whoever started it.
process.stdin.resume().on("end", () => process.exit());

console.log(await app.listen({ port: 0, host: "127.0.0.1" }));
