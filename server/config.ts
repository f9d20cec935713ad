import { delimiter, join, resolve } from "node:path";
import { z } from "zod";

/**
 * The only reader of process.env. Parsed once at start; every wrong variable is named in one
 * message. Choices become unions, so that a half-configured one cannot exist.
 */
export type Config = ReturnType<typeof parseConfig>;

export type DatabaseConfig =
  | { kind: "embedded" }
  | { kind: "external"; ownerUrl: string; applicationUrl: string | null };

export type FileStoreConfig =
  | { kind: "filesystem"; root: string }
  | {
      kind: "s3";
      bucket: string;
      /** Null is AWS itself. */
      endpoint: string | null;
      region: string;
      pathStyle: boolean;
      /** Null leaves them to where the server runs: a role of the machine or the pod. */
      credentials: { accessKeyId: string; secretAccessKey: string } | null;
    };

const flag = z.enum(["true", "false", "1", "0", ""]).transform((value) => value === "true" || value === "1");
const postgresUrl = z
  .string()
  .refine(
    (value) => /^postgres(ql)?:\/\//.test(value) && URL.canParse(value),
    "must look like postgres://user:password@host:5432/database",
  );

// As curl reads it: without a scheme it is an HTTP proxy.
const proxyUrl = z
  .string()
  .transform((value) => (value.includes("://") ? value : `http://${value}`))
  .pipe(z.url({ protocol: /^https?$/, error: "must be an http:// or https:// proxy" }));

/** An address that sandboxes may reach though it is not public; null stands for every permitted port. */
export interface HostException {
  host: string;
  port: number | null;
}

const minSetupCodeLength = 12;

const toList = (value: string) =>
  value
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);

const portNumber = z.coerce.number("must be a port number").int().min(0).max(65535).optional();

const variables = z.object({
  DORMOUSE_HOME: z.string().min(1).default(".dormouse"),
  DORMOUSE_HOST: z.string().min(1).default("127.0.0.1"),
  DORMOUSE_PORT: portNumber,
  // What hosts and shells set for every program; where ours is set too, ours counts. There is nothing of the
  // kind for the address: HOST and HOSTNAME name the machine in many shells, and would open Dormouse to others.
  PORT: portNumber,
  DORMOUSE_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// address" })
    .transform((value) => value.replace(/\/+$/, ""))
    .optional(),
  DORMOUSE_ALLOWED_HOSTS: z
    .string()
    .default("")
    .transform(toList)
    .pipe(
      z.array(
        z
          .string()
          .regex(
            /^\.?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i,
            "must be names such as dormouse.example.com, or .example.com for all below it, separated by commas",
          ),
      ),
    ),
  DORMOUSE_MAX_CONNECTIONS: z.coerce.number("must be a number").int().min(10).max(1_000_000).default(4_000),
  DORMOUSE_MAX_CONNECTIONS_PER_ADDRESS: z.coerce.number("must be a number").int().min(10).max(1_000_000).default(1_000),
  DORMOUSE_SETUP_CODE: z
    .string()
    .refine(
      (value) => value.replaceAll(/[\s-]/g, "").length >= minSetupCodeLength,
      `must have at least ${minSetupCodeLength} characters besides spaces and dashes`,
    )
    .optional(),
  DORMOUSE_TRUSTED_PROXIES: z
    .string()
    .default("")
    .transform(toList)
    .pipe(
      z.array(
        z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], "must be addresses or CIDR ranges, separated by commas"),
      ),
    ),
  DORMOUSE_MASTER_KEY: z
    .string()
    .refine(
      (value) => Buffer.from(value, "base64").length === 32,
      "must be 32 random bytes in base64 (openssl rand -base64 32)",
    )
    .optional(),
  DORMOUSE_ISOLATION: z.enum(["auto", "sandboxed", "host"]).default("auto"),
  DORMOUSE_SANDBOX_LISTEN: z.string().transform(toListenAddress).optional(),
  DORMOUSE_SANDBOX_HOST: z
    .string()
    .regex(/^(\[[0-9a-f:.]+\]|[^:\s/]+)$/i, "must be a host name or address, such as dormouse.example.internal")
    .optional(),
  DORMOUSE_DEMO_PACE: z.enum(["human", "instant"]).default("human"),
  DORMOUSE_EGRESS: z.enum(["open", "off"]).default("open"),
  DORMOUSE_EGRESS_ALLOW: z
    .string()
    .default("")
    .transform(toList)
    .pipe(z.array(z.string().transform(toHostException))),
  DORMOUSE_FILE_STORE: z.enum(["filesystem", "s3"]).default("filesystem"),
  DORMOUSE_FILE_STORE_ROOT: z.string().optional(),
  DORMOUSE_FILE_STORE_NEW: flag.default(false),
  DORMOUSE_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be the name of a bucket")
    .optional(),
  DORMOUSE_S3_ENDPOINT: z.url({ protocol: /^https?$/, error: "must be an http:// or https:// address" }).optional(),
  DORMOUSE_S3_REGION: z.string().default("us-east-1"),
  DORMOUSE_S3_ACCESS_KEY_ID: z.string().optional(),
  DORMOUSE_S3_SECRET_ACCESS_KEY: z.string().optional(),
  DORMOUSE_S3_PATH_STYLE: flag.optional(),
  DORMOUSE_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_APP_URL: postgresUrl.optional(),
  DATABASE_REQUIRED: flag.default(false),
  HTTP_PROXY: proxyUrl.optional(),
  HTTPS_PROXY: proxyUrl.optional(),
  NO_PROXY: z.string().default(""),
});

export function parseConfig(environment: Record<string, string | undefined> = process.env) {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ""),
  );
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]) given[name] ??= given[name.toLowerCase()];
  if (given.DORMOUSE_PORT !== undefined) delete given.PORT;
  const problems = unknownVariables(given);
  const parsed = variables.safeParse(given);
  if (!parsed.success) {
    problems.push(...parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`));
  }
  problems.push(...databaseProblems(given), ...fileStoreProblems(given));
  if (parsed.success) problems.push(...sandboxHostProblems(parsed.data));
  if (!parsed.success || problems.length > 0) {
    throw new ConfigError(problems);
  }
  const value = parsed.data;
  const port = value.DORMOUSE_PORT ?? value.PORT;
  return {
    mode: given.NODE_ENV === "development" ? ("development" as const) : ("production" as const),
    home: resolve(value.DORMOUSE_HOME),
    host: value.DORMOUSE_HOST,
    /** A port that was asked for is never silently replaced; the default may move to the next free one. */
    port: port === undefined ? ({ kind: "default", port: 3000 } as const) : ({ kind: "fixed", port } as const),
    publicUrl: value.DORMOUSE_PUBLIC_URL ?? null,
    trustedProxies: value.DORMOUSE_TRUSTED_PROXIES,
    /** Names under which requests may come, in lower case; addresses and localhost may always. */
    allowedHosts: [
      ...value.DORMOUSE_ALLOWED_HOSTS,
      value.DORMOUSE_HOST,
      ...(value.DORMOUSE_PUBLIC_URL ? [new URL(value.DORMOUSE_PUBLIC_URL).hostname] : []),
    ].map((name) => name.toLowerCase()),
    maxConnections: { inAll: value.DORMOUSE_MAX_CONNECTIONS, perAddress: value.DORMOUSE_MAX_CONNECTIONS_PER_ADDRESS },
    /** What the first run asks for, where nobody reads it in the terminal. */
    setupCode: value.DORMOUSE_SETUP_CODE ?? null,
    masterKey: value.DORMOUSE_MASTER_KEY
      ? ({ kind: "environment", key: Buffer.from(value.DORMOUSE_MASTER_KEY, "base64") } as const)
      : ({ kind: "file" } as const),
    isolation: value.DORMOUSE_ISOLATION,
    sandboxListen: sandboxListenOf(value),
    /** How fast the built-in demo model speaks. */
    demoPace: value.DORMOUSE_DEMO_PACE,
    egress: { kind: value.DORMOUSE_EGRESS, allow: value.DORMOUSE_EGRESS_ALLOW },
    /** The machine's own way out, for model calls and for what sandboxes fetch. */
    proxy: {
      http: value.HTTP_PROXY ?? null,
      https: value.HTTPS_PROXY ?? null,
      except: value.NO_PROXY,
    },
    /** Where programs of this machine are looked for; a service's own PATH often leaves out where they lie. */
    searchPath: [given.PATH, "/usr/bin", "/bin", "/usr/local/bin"].filter(Boolean).join(delimiter),
    logLevel: value.DORMOUSE_LOG_LEVEL,
    database: (value.DATABASE_URL
      ? { kind: "external", ownerUrl: value.DATABASE_URL, applicationUrl: value.DATABASE_APP_URL ?? null }
      : { kind: "embedded" }) as DatabaseConfig,
    fileStore: fileStoreOf(value),
    /** For one start: the store that held the archives so far is gone for good. */
    acceptNewFileStore: value.DORMOUSE_FILE_STORE_NEW,
  };
}

function fileStoreOf(value: z.infer<typeof variables>): FileStoreConfig {
  const { DORMOUSE_S3_BUCKET: bucket, DORMOUSE_S3_ENDPOINT: endpoint } = value;
  const { DORMOUSE_S3_ACCESS_KEY_ID: accessKeyId, DORMOUSE_S3_SECRET_ACCESS_KEY: secretAccessKey } = value;
  if (value.DORMOUSE_FILE_STORE === "filesystem" || !bucket) {
    return { kind: "filesystem", root: resolve(value.DORMOUSE_FILE_STORE_ROOT ?? join(value.DORMOUSE_HOME, "store")) };
  }
  return {
    kind: "s3",
    bucket,
    endpoint: endpoint ?? null,
    region: value.DORMOUSE_S3_REGION,
    // A store of one's own seldom has a name for each bucket.
    pathStyle: value.DORMOUSE_S3_PATH_STYLE ?? endpoint !== undefined,
    credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : null,
  };
}

/** Where sandboxes without a socket of their own reach the server; null: there are none. */
function sandboxListenOf({ DORMOUSE_SANDBOX_LISTEN: listen, DORMOUSE_SANDBOX_HOST: host }: z.infer<typeof variables>) {
  if (!listen) return null;
  const name = host?.replace(/^\[|\]$/g, "") ?? listen.host;
  /** What sandboxes call it in an address; the port is the one that is listened on. */
  return { ...listen, reachedAs: name.includes(":") ? `[${name}]` : name };
}

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration is wrong:\n${problems.map((problem) => `  ${problem}`).join("\n")}\nSee .env.example for every variable.`,
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

function toHostException(value: string, context: z.RefinementCtx): HostException {
  const match = /^(\[[0-9a-f:.]+\]|[^:\s/]+)(?::(\d{1,5}))?$/i.exec(value);
  const port = match?.[2] ? Number(match[2]) : null;
  if (!match?.[1] || (port !== null && (port < 1 || port > 65535))) {
    context.addIssue("must be host or host:port, separated by commas");
    return z.NEVER;
  }
  return { host: match[1].replace(/^\[|\]$/g, "").toLowerCase(), port };
}

/** Port 0 is any that is free. */
function toListenAddress(value: string, context: z.RefinementCtx): { host: string; port: number } {
  const [, host, digits] = /^(\[[0-9a-f:.]+\]|[^:\s/]+):(\d{1,5})$/i.exec(value) ?? [];
  const port = Number(digits);
  if (!host || port > 65535) {
    context.addIssue("must be host:port, such as 0.0.0.0:3001");
    return z.NEVER;
  }
  return { host: host.replace(/^\[|\]$/g, ""), port };
}

// A misspelt name would otherwise be ignored in silence. What the tests are told is no concern of the server.
function unknownVariables(given: Record<string, unknown>): string[] {
  return Object.keys(given)
    .filter((name) => /^DORMOUSE_(?!TEST_)/.test(name) && !(name in variables.shape))
    .map((name) => `${name}: no such variable`);
}

function sandboxHostProblems(value: z.infer<typeof variables>): string[] {
  const { DORMOUSE_SANDBOX_LISTEN: listen, DORMOUSE_SANDBOX_HOST: host } = value;
  if (host && !listen) return ["DORMOUSE_SANDBOX_HOST: needs DORMOUSE_SANDBOX_LISTEN beside it"];
  // 0.0.0.0, :: and their other spellings.
  if (host || !listen || !/^[0:.]+$/.test(listen.host)) return [];
  return [
    `DORMOUSE_SANDBOX_HOST: is missing. ${listen.host} is every address of this machine: name the one that sandboxes use`,
  ];
}

function databaseProblems(given: Record<string, unknown>): string[] {
  const problems: string[] = [];
  if (given.DATABASE_APP_URL && !given.DATABASE_URL)
    problems.push("DATABASE_APP_URL: needs DATABASE_URL, the owner's address, beside it");
  if ((given.DATABASE_REQUIRED === "true" || given.DATABASE_REQUIRED === "1") && !given.DATABASE_URL) {
    problems.push("DATABASE_URL: is missing, and DATABASE_REQUIRED refuses the embedded Postgres");
  }
  return problems;
}

function fileStoreProblems(given: Record<string, unknown>): string[] {
  if (given.DORMOUSE_FILE_STORE !== "s3") {
    return Object.keys(given)
      .filter((name) => name.startsWith("DORMOUSE_S3_") && name in variables.shape)
      .map((name) => `${name}: needs DORMOUSE_FILE_STORE=s3 beside it`);
  }
  const problems: string[] = [];
  if (!given.DORMOUSE_S3_BUCKET) problems.push("DORMOUSE_S3_BUCKET: is missing, and DORMOUSE_FILE_STORE is s3");
  if (given.DORMOUSE_FILE_STORE_ROOT)
    problems.push("DORMOUSE_FILE_STORE_ROOT: cannot be used when DORMOUSE_FILE_STORE is s3");
  if (!given.DORMOUSE_S3_ACCESS_KEY_ID !== !given.DORMOUSE_S3_SECRET_ACCESS_KEY) {
    const missing = given.DORMOUSE_S3_ACCESS_KEY_ID ? "DORMOUSE_S3_SECRET_ACCESS_KEY" : "DORMOUSE_S3_ACCESS_KEY_ID";
    problems.push(`${missing}: is missing; the two go together`);
  }
  return problems;
}
