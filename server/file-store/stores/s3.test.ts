import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, request as httpRequest } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { causes } from "../../protocol/causes.ts";
import { describeFileStore } from "../file-store.contract.ts";
import { type StoreKey, storeKey } from "../store-key.ts";
import { bytesOf, inChunks, megabyte, never, readAll, sha256 } from "../test-bytes.ts";
import { startPlainS3 } from "../test-plain-s3.ts";
import { createS3Store } from "./s3.ts";

/** Without S3_TEST_ENDPOINT, against a server process of our own. */
const given = process.env.S3_TEST_ENDPOINT;
const credentials = {
  accessKeyId: process.env.S3_TEST_ACCESS_KEY_ID ?? "test",
  secretAccessKey: process.env.S3_TEST_SECRET_ACCESS_KEY ?? "test",
};
const region = "us-east-1";
const bucket = `dormouse-${randomUUID().slice(0, 8)}`;
let endpoint: string;
let client: S3Client;
let stopServer = () => {};

beforeAll(async () => {
  endpoint = given ?? (await startServer());
  client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
});

afterAll(async () => {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
  for (const { Key } of Contents) await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
  await client.send(new DeleteBucketCommand({ Bucket: bucket }));
  client.destroy();
  stopServer();
});

const options = () => ({ kind: "s3" as const, bucket, endpoint, region, pathStyle: true, credentials });

describeFileStore("S3", async () => ({
  store: createS3Store(options()),
  config: options(),
  async damage(key) {
    const other = createS3Store(options());
    const bytes = (await readAll(await other.read(key, { signal: never }))) ?? Buffer.of();
    bytes[500] = (bytes[500] ?? 0) ^ 1;
    await other.write(key, inChunks(bytes), never);
  },
  async openLying() {
    const kinds = [true, false].map((saysChecksums) => startPlainS3({ damages: true, saysChecksums }));
    return (await Promise.all(kinds)).map((server) => {
      const lying = createS3Store({ ...options(), endpoint: server.endpoint });
      return { ...lying, close: () => lying.close().finally(() => server[Symbol.dispose]()) };
    });
  },
  async countLeftovers() {
    return (await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads?.length ?? 0;
  },
  async openUnavailable() {
    const limits = { callMilliseconds: 300, finishMilliseconds: 300 };
    return [
      createS3Store({ ...options(), endpoint: await silentEndpoint(), limits }),
      createS3Store({ ...options(), endpoint: "http://127.0.0.1:9", limits }),
      createS3Store({ ...options(), bucket: `absent-${bucket}` }),
    ];
  },
  async end() {},
}));

describe("the S3 store", () => {
  it("copies through the server what the store would not copy by itself", async () => {
    const store = createS3Store({ ...options(), maxCopyBytes: 1000 });
    const [from, to] = [storeKey("large/from"), storeKey("large/to")];
    const written = await store.write(from, inChunks(bytesOf(1001)), never);
    expect(await store.copy(from, to, never)).toBe(true);
    expect(await store.verify(to, written, never)).toBe("intact");
  });

  it("verifies an object of which the store keeps no SHA-256 by reading it", async () => {
    const store = createS3Store(options());
    const bytes = bytesOf(2 * megabyte);
    const key = storeKey("foreign/object");
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes }));
    expect(await store.verify(key, { bytes: bytes.length, sha256: sha256(bytes) }, never)).toBe("intact");
    expect(await store.verify(key, { bytes: bytes.length, sha256: sha256(Buffer.of(1)) }, never)).toBe("damaged");
  });

  it.each([1000, 17 * megabyte])(
    "looks once at %i bytes it wrote, and only if it was told no checksum",
    async (length) => {
      for (const saysChecksums of [true, false]) {
        using server = await startPlainS3({ damages: false, saysChecksums });
        const store = createS3Store({ ...options(), endpoint: server.endpoint });
        await store.write(storeKey("a"), inChunks(bytesOf(length)), never);
        expect(server.asked).toEqual(saysChecksums ? { head: 0, get: 0 } : { head: 1, get: 1 });
        await store.close();
      }
    },
  );

  it("lists more than a page of objects", async () => {
    const store = createS3Store(options());
    const names = Array.from({ length: 1100 }, (_, number) => storeKey("many", String(number).padStart(4, "0")));
    const inBatches = async (work: (key: StoreKey) => Promise<unknown>) => {
      for (let at = 0; at < names.length; at += 50) await Promise.all(names.slice(at, at + 50).map(work));
    };
    await inBatches((Key) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "x" })));
    const listed: string[] = [];
    for await (const entry of store.list(storeKey("many"), never)) listed.push(entry.key);
    expect(listed).toEqual(names);
    await inBatches((key) => store.remove(key, never));
  });

  it("ends a read with an error, never short, when the connection breaks", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
        socket.end(Buffer.alloc(400));
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const broken = createS3Store({ ...options(), endpoint: addressOf(server.address()) });
    const stream = await broken.read(storeKey("a"), { signal: never });
    await expect(readAll(stream)).rejects.toMatchObject({ kind: "unavailable" });
    server.close();
  });

  it("asks a source for no more than may be under way at a time", async () => {
    const begun = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>";
    const server = createHttpServer((request, response) => {
      request.resume();
      if (request.method === "POST") response.end(begun);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const limits = { callMilliseconds: 1000 };
    const stuck = createS3Store({ ...options(), endpoint: addressOf(server.address()), limits });
    let given = 0;
    async function* endless() {
      for (; ; given++) yield Buffer.alloc(megabyte);
    }
    await expect(stuck.write(storeKey("a"), endless(), never)).rejects.toMatchObject({ kind: "unavailable" });
    expect(given).toBeGreaterThan(16);
    expect(given).toBeLessThanOrEqual(32);
    server.closeAllConnections();
    server.close();
  });

  it("finds an upload finished whose answer was lost", async () => {
    const proxy = createHttpServer((request, response) => {
      const { pathname, search } = new URL(request.url ?? "/", endpoint);
      const finishing = request.method === "POST" && search.includes("uploadId=");
      const { hostname, port } = new URL(endpoint);
      const { method, headers } = request;
      const forwarded = httpRequest({ hostname, port, path: pathname + search, method, headers }, (answer) => {
        // The store has taken it; whoever asked does not hear of it.
        if (finishing) return void answer.resume().on("end", () => request.socket.destroy());
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(forwarded);
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const store = createS3Store({ ...options(), endpoint: addressOf(proxy.address()) });
    const bytes = bytesOf(9 * megabyte);
    const written = await store.write(storeKey("lost/answer"), inChunks(bytes), never);
    expect(await createS3Store(options()).verify(written.key, written, never)).toBe("intact");
    proxy.closeAllConnections();
    proxy.close();
  });

  it("gives up a read of which nothing more comes", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbeginning"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const limits = { idleMilliseconds: 200 };
    const stalled = createS3Store({ ...options(), endpoint: addressOf(server.address()), limits });
    const stream = await stalled.read(storeKey("a"), { signal: never });
    await expect(readAll(stream)).rejects.toMatchObject({ kind: "unavailable" });
    server.close();
  });

  it("lets nothing of the vendor's error out but as a cause", async () => {
    const wrong = { ...options(), bucket: `absent-${bucket}` };
    const error = await createS3Store(wrong)
      .write(storeKey("a"), inChunks(bytesOf(1)), never)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: "unavailable", message: causes["store-missing"].message });
    expect(Object.keys(error as object)).not.toContain("$metadata");
  });

  it("says so when nobody is there", async () => {
    const store = createS3Store({ ...options(), endpoint: "http://127.0.0.1:1" });
    const away = { kind: "unavailable", message: causes["store-away"].message };
    await expect(store.stat(storeKey("a"), never)).rejects.toMatchObject(away);
  });

  it.runIf(given)("says so when its credentials are refused", async () => {
    const wrong = { ...options(), credentials: { ...credentials, secretAccessKey: "another" } };
    const refused = { kind: "unavailable", message: causes["store-refused"].message };
    const store = createS3Store(wrong);
    await expect(store.write(storeKey("a"), inChunks(bytesOf(1)), never)).rejects.toMatchObject(refused);
    await expect(store.stat(storeKey("a"), never)).rejects.toMatchObject(refused);
  });
});

async function startServer(): Promise<string> {
  const script = new URL("../test-s3-server.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
  stopServer = () => void child.kill("SIGKILL");
  const [address] = await once(child.stdout, "data");
  return String(address).trim();
}

/** Takes connections and never answers. */
async function silentEndpoint(): Promise<string> {
  const server = createServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  return addressOf(server.address());
}

function addressOf(address: AddressInfo | string | null): string {
  return `http://127.0.0.1:${(address as AddressInfo).port}`;
}
