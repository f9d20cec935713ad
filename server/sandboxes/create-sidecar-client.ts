import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import type { Dispatcher } from "undici";
import { faultError } from "../errors.ts";
import { heartbeatMilliseconds } from "../protocol/limits.ts";
import { checkAnswer, hashBody, signatureHeaders, signRequest, streamedBody } from "../protocol/request-signature.ts";
import {
  freezeHolds,
  type NumberedEvent,
  numberedEvent,
  quiesced,
  resumed,
  sandboxActivity,
  sidecarHealth,
} from "../protocol/sidecar.ts";
import { downloadStream } from "./download-stream.ts";
import type { SandboxDoor } from "./sandbox-backend.ts";
import { collect, refusal, translate } from "./sidecar-answer.ts";
import type { SidecarAnswer, SidecarClient, SidecarRequest } from "./sidecar-client.ts";
import { uploadStream } from "./upload-stream.ts";

export interface SidecarClientOptions {
  door: SandboxDoor;
  sandboxId: string;
  bootId: string;
  /** 32 bytes. */
  bootSecret: Uint8Array;
  /** The server's Ed25519 key. */
  privateKey: KeyObject;
  /** Of the lease under which the sandbox is used: once another server has taken it over, the sidecar refuses. */
  leaseEpoch?: number;
}

const headersDeadline = 30_000;
const maxSilence = 300_000;
// The sidecar says in between that it lives.
const maxEventSilence = 3 * heartbeatMilliseconds.sidecar + 5_000;
const agentDeadline = 60_000;
// The sidecar bounds them itself, by a few seconds.
const freezeDeadline = 10_000;
// A restore or a removal that is under way is waited for.
const workspaceDeadline = 120_000;

export function createSidecarClient(options: SidecarClientOptions): SidecarClient {
  const { door, sandboxId, bootId, bootSecret, privateKey, leaseEpoch = 0 } = options;

  async function exchange(input: SidecarRequest & { silence: number }): Promise<SidecarAnswer> {
    const { method, path, body = "", contentType, signal } = input;
    const nonce = randomBytes(18).toString("base64url");
    const bodyHash = hashBody(body);
    const issuedAt = Date.now();
    const signed = { sandboxId, bootId, leaseEpoch, method, path, issuedAt, nonce, bodyHash };
    // Not by an address, in which a quotation mark would be sent otherwise than it was signed.
    const answer = await door.dispatcher
      .request({
        origin: door.origin,
        path,
        method,
        headers: {
          ...input.headers,
          ...(contentType ? { "content-type": contentType } : {}),
          [signatureHeaders.signature]: signRequest(signed, privateKey),
          [signatureHeaders.issuedAt]: String(issuedAt),
          [signatureHeaders.nonce]: nonce,
          [signatureHeaders.bodyHash]: bodyHash,
          [signatureHeaders.leaseEpoch]: String(leaseEpoch),
        },
        body: body.length > 0 ? body : null,
        headersTimeout: input.timeoutMilliseconds ?? headersDeadline,
        bodyTimeout: input.silence,
        signal,
      })
      .catch((error) => Promise.reject(translate(error, signal)));
    return proved(answer, nonce);
  }

  /** An answer whose proof holds; a body that was hashed is read as a whole and compared. */
  async function proved(answer: Dispatcher.ResponseData, nonce: string): Promise<SidecarAnswer> {
    const { statusCode: status, headers, body } = answer;
    const proof = checkAnswer(String(headers[signatureHeaders.answer] ?? ""), { nonce, status }, bootSecret);
    if (!proof) {
      body.on("error", () => {}).destroy();
      throw faultError("sandbox-answer", { cause: new Error("Not proved by this boot") });
    }
    if (proof.bodyHash === streamedBody) return { status, headers, body };
    const bytes = await collect(body);
    if (createHash("sha256").update(bytes).digest("hex") !== proof.bodyHash) {
      throw faultError("sandbox-answer", { cause: new Error("Changed on its way") });
    }
    return { status, headers, body: Readable.from([bytes], { objectMode: false }) };
  }

  const post = (path: string, json: unknown, signal: AbortSignal) =>
    client.json({ method: "POST", path, json, timeoutMilliseconds: freezeDeadline, signal });

  const client: SidecarClient = {
    sandboxId,
    bootId,
    async health(signal) {
      const request = { method: "GET", path: "/health", timeoutMilliseconds: 5_000, signal } as const;
      return sidecarHealth.parse(await client.json(request));
    },
    send: (request) => exchange({ ...request, silence: maxSilence }),
    async json<Result>({ json, ...request }: Omit<SidecarRequest, "body"> & { json?: unknown }): Promise<Result> {
      const content = json === undefined ? {} : { body: JSON.stringify(json), contentType: "application/json" };
      const answer = await client.send({ ...request, ...content });
      const bytes = await collect(answer.body).catch((error) => Promise.reject(translate(error, request.signal)));
      const text = bytes.toString("utf8");
      if (answer.status >= 400) throw refusal(answer.status, text);
      if (text === "") return undefined as Result;
      try {
        return JSON.parse(text) as Result;
      } catch (cause) {
        throw faultError("sandbox-answer", { cause });
      }
    },
    upload: (request) => uploadStream(options, request),
    download: (request) => downloadStream(options, request),
    async markRestored(signal) {
      await client.json({ method: "POST", path: "/opencode-history/mark-restored", signal });
    },
    async waitForAgent(signal) {
      const deadline = Date.now() + agentDeadline;
      for (;;) {
        const { agent, gate } = await client.health(signal);
        if (agent.state === "running") return;
        const cause = new Error(agent.cause ?? `The agent is ${agent.state}`);
        if (gate === "closed") throw faultError("agent-starting", { cause });
        if (agent.state === "failed") throw faultError("agent-start", { cause });
        if (Date.now() > deadline) throw faultError("agent-start-late", { cause });
        await sleep(50, undefined, { signal });
      }
    },
    async restartAgent(input, signal) {
      await client.json({ method: "POST", path: "/agent/restart", json: input, signal });
    },
    prepareWorkspace: (sessionId, signal) =>
      client.json({
        method: "POST",
        path: `/workspaces/${encodeURIComponent(sessionId)}`,
        timeoutMilliseconds: workspaceDeadline,
        signal,
      }),
    async removeWorkspace(sessionId, signal) {
      const path = `/workspaces/${encodeURIComponent(sessionId)}`;
      await client.json({ method: "DELETE", path, timeoutMilliseconds: workspaceDeadline, signal });
    },
    async quiesce(signal) {
      return quiesced.parse(await post("/quiesce", {}, signal));
    },
    async resume(signal) {
      return resumed.parse(await post("/resume", {}, signal));
    },
    async freezeHolds(freezeId, signal) {
      return freezeHolds.parse(await post("/freeze-holds", { freezeId }, signal));
    },
    async activity(signal) {
      const request = { method: "GET", path: "/activity", timeoutMilliseconds: freezeDeadline, signal } as const;
      return sandboxActivity.parse(await client.json(request));
    },
    async *events(after, signal) {
      const path = `/agent-events?after=${after}`;
      const answer = await exchange({ method: "GET", path, signal, silence: maxEventSilence });
      if (answer.status !== 200) throw refusal(answer.status, (await collect(answer.body)).toString("utf8"));
      const arrived: NumberedEvent[] = [];
      const parser = createParser({ onEvent: ({ data }) => arrived.push(numberedEvent.parse(JSON.parse(data))) });
      try {
        answer.body.setEncoding("utf8");
        for await (const text of answer.body) {
          parser.feed(text);
          yield* arrived.splice(0);
        }
      } catch (error) {
        throw translate(error, signal);
      } finally {
        answer.body.destroy();
      }
      throw faultError("sandbox-away", { cause: new Error("The events were closed") });
    },
  };
  return client;
}
