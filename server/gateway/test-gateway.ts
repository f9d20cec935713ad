import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import postgres from "postgres";
import { Agent } from "undici";
import { adminInput, createTestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "../auth/index.ts";
import { createEgress, type EgressOptions } from "../egress/create-egress.ts";
import { createSecretBox } from "../lib/secret-box.ts";
import { createModels } from "../models/create-models.ts";
import type { Models } from "../models/index.ts";
import { createCallers } from "./create-callers.ts";
import { createGateway, type GatewayOptions } from "./create-gateway.ts";
import type { Gateway } from "./index.ts";

export interface TestGateway extends AsyncDisposable {
  gateway: Gateway;
  models: Models;
  admin: Viewer;
  person: Viewer;
  /** The server's own HTTP address. */
  url: string;
  /** Stands for a sidecar: `/llm/…` is passed on with the person's token. */
  sidecarUrl: string;
  token: string;
  addToken(
    viewer: { tenantId: string; userId: string },
    change?: { expiresAt?: Date; type?: "user" | "sandbox" },
  ): Promise<string>;
  revoke(token: string): Promise<void>;
  owner: postgres.Sql;
  /** Everything that was logged. */
  log: string[];
}

/** The real gateway and egress on a real database; only the sidecar is played. */
export async function createTestGateway(
  options: Partial<Pick<GatewayOptions, "silenceMilliseconds" | "demoPace" | "proxy">> & {
    egress?: Partial<EgressOptions>;
  } = {},
): Promise<TestGateway> {
  const test = await createTestAccounts();
  await test.accounts.completeFirstRun(adminInput);
  const admin = await test.signIn(adminInput.email);
  const person = await test.addPerson(admin, "bo@example.org");
  const secretBox = createSecretBox(randomBytes(32));
  const owner = postgres(test.ownerUrl, { max: 2 });
  const log: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => log.push(line) });
  const { database } = test;
  const callers = createCallers({ database });
  const egress = createEgress({
    rules: { kind: "open", allow: [] },
    proxy: { https: null, except: "" },
    findCaller: (headers) => callers.find(headers),
    permits: () => true,
    logger,
    ...options.egress,
  });
  const gateway = createGateway({
    database,
    secretBox,
    callers,
    proxy: { http: null, https: null, except: "" },
    demoPace: "instant",
    logger,
    ...options,
    egress,
  });

  const addToken: TestGateway["addToken"] = async ({ tenantId, userId }, { expiresAt, type = "sandbox" } = {}) => {
    const token = `dms_${randomBytes(24).toString("base64url")}`;
    await owner`insert into tokens (tenant_id, user_id, type, hash, sandbox_id, expires_at)
      values (${tenantId}, ${userId}, ${type}, ${hashOf(token)}, ${randomUUID()}, ${expiresAt ?? null})`;
    return token;
  };
  const token = await addToken(person);
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/llm/")) {
      request.url = `/api${request.url}`;
      request.headers.authorization = `Bearer ${token}`;
    }
    if (!gateway.handle(request, response)) response.writeHead(404).end("not the gateway's");
  });
  server.on("connect", (request, socket, head) => gateway.connect(request, socket, head));
  const url = await listen(server);

  return {
    gateway,
    models: createModels({ database, secretBox, outbound: new Agent() }),
    admin,
    person,
    url,
    sidecarUrl: url,
    token,
    addToken,
    async revoke(revoked) {
      await owner`update tokens set revoked_at = now() where hash = ${hashOf(revoked)}`;
    },
    owner,
    log,
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await close(server);
      await owner.end();
      await test[Symbol.asyncDispose]();
    },
  };
}

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

/** Resolves with the address. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

export async function startProvider(handle: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(handle);
  const url = await listen(server);
  return { url, [Symbol.asyncDispose]: () => close(server) };
}
