import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ConfigError, parseConfig } from "./config.ts";

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    parseConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe("the configuration", () => {
  it("is complete without any variable", () => {
    expect(parseConfig({})).toMatchObject({
      mode: "production",
      host: "127.0.0.1",
      port: { kind: "default", port: 3000 },
      publicUrl: null,
      trustedProxies: [],
      masterKey: { kind: "file" },
      isolation: "auto",
      database: { kind: "embedded" },
    });
  });

  it("takes an empty variable as none, as .env files leave them", () => {
    expect(parseConfig({ DORMOUSE_PORT: "", DATABASE_URL: "", DATABASE_REQUIRED: "" })).toEqual(parseConfig({}));
  });

  it("tells a port that was asked for from the default", () => {
    expect(parseConfig({ DORMOUSE_PORT: "3000" }).port).toEqual({ kind: "fixed", port: 3000 });
  });

  it("takes the port from PORT as other programs do, unless it has one of its own", () => {
    expect(parseConfig({ PORT: "8080" }).port).toEqual({ kind: "fixed", port: 8080 });
    expect(parseConfig({ PORT: "" }).port).toEqual({ kind: "default", port: 3000 });
    expect(parseConfig({ PORT: "8080", DORMOUSE_PORT: "9090" }).port).toEqual({ kind: "fixed", port: 9090 });
    expect(problemsOf({ PORT: "http" })).toEqual(["PORT: must be a port number"]);
    expect(problemsOf({ PORT: "http", DORMOUSE_PORT: "9090" })).toEqual([]);
  });

  it("takes the address from its own variable alone, since others name the machine", () => {
    expect(parseConfig({ HOST: "0.0.0.0", HOSTNAME: "ada-laptop" }).host).toBe("127.0.0.1");
    expect(parseConfig({ HOST: "10.0.0.1", DORMOUSE_HOST: "0.0.0.0" }).host).toBe("0.0.0.0");
  });

  it("makes links without a double slash", () => {
    expect(parseConfig({ DORMOUSE_PUBLIC_URL: "https://dormouse.example.com//" }).publicUrl).toBe(
      "https://dormouse.example.com",
    );
  });

  it("expects the names that it was told, its own and that of the public address", () => {
    const hosts = (environment: Record<string, string>) => parseConfig(environment).allowedHosts;
    expect(hosts({})).toEqual(["127.0.0.1"]);
    const named = { DORMOUSE_HOST: "Mouse", DORMOUSE_PUBLIC_URL: "https://Dormouse.example.com:8443" };
    expect(hosts({ ...named, DORMOUSE_ALLOWED_HOSTS: "A.internal, .example.org" })).toEqual([
      "a.internal",
      ".example.org",
      "mouse",
      "dormouse.example.com",
    ]);
    for (const value of ["*.example.org", "https://a.internal", "a.internal:3000", "a..b", "."]) {
      expect(problemsOf({ DORMOUSE_ALLOWED_HOSTS: value })).toEqual([expect.stringContaining("must be names such as")]);
    }
  });

  it("takes no set-up code that could be guessed", () => {
    expect(parseConfig({}).setupCode).toBeNull();
    expect(parseConfig({ DORMOUSE_SETUP_CODE: "ABCD-EFGH-JKMN" }).setupCode).toBe("ABCD-EFGH-JKMN");
    expect(problemsOf({ DORMOUSE_SETUP_CODE: "ABC-DEF-GHJ-K" })).toEqual([expect.stringContaining("at least 12")]);
  });

  it("names every wrong variable at once, and none that is right", () => {
    const named = problemsOf({
      DORMOUSE_PORT: "70000",
      DORMOUSE_HOST: "127.0.0.1",
      DORMOUSE_MASTER_KEY: "dG9vIHNob3J0",
      DORMOUSE_TRUSTED_PROXIES: "10.0.0.0/8,10.0.0.0/99",
      DATABASE_URL: "http://localhost",
    }).map((problem) => problem.split(":")[0]);
    expect(named.sort()).toEqual(["DATABASE_URL", "DORMOUSE_MASTER_KEY", "DORMOUSE_PORT", "DORMOUSE_TRUSTED_PROXIES"]);
  });

  it("refuses a misspelt name, but not what belongs to the tests or to others", () => {
    expect(problemsOf({ DORMOUSE_PROT: "3000" })).toEqual(["DORMOUSE_PROT: no such variable"]);
    expect(problemsOf({ DORMOUSE_TEST_CHROMIUM: "/usr/bin/chromium", HOSTNAME: "x" })).toEqual([]);
  });

  it("never half-configures the database", () => {
    const url = "postgres://ada@localhost/dormouse";
    expect(problemsOf({ DATABASE_APP_URL: url })).toEqual([expect.stringContaining("needs DATABASE_URL")]);
    expect(problemsOf({ DATABASE_REQUIRED: "1" })).toEqual([expect.stringContaining("DATABASE_URL: is missing")]);
    expect(parseConfig({ DATABASE_URL: url, DATABASE_REQUIRED: "true" }).database).toEqual({
      kind: "external",
      ownerUrl: url,
      applicationUrl: null,
    });
  });

  it("listens for sandboxes only where it is told to", () => {
    expect(parseConfig({}).sandboxListen).toBeNull();
    const listen = (value: string) => parseConfig({ DORMOUSE_SANDBOX_LISTEN: value }).sandboxListen;
    expect(listen("10.0.0.2:3001")).toEqual({ host: "10.0.0.2", port: 3001, reachedAs: "10.0.0.2" });
    expect(listen("[fd00::2]:3001")).toEqual({ host: "fd00::2", port: 3001, reachedAs: "[fd00::2]" });
    for (const value of ["3001", "localhost", "http://localhost:3001", "localhost:99999"]) {
      expect(problemsOf({ DORMOUSE_SANDBOX_LISTEN: value })).toEqual([expect.stringContaining("must be host:port")]);
    }
  });

  it("needs the name that sandboxes use where it listens for them on every address", () => {
    for (const host of ["0.0.0.0", "[::]", "0", "[0:0:0:0:0:0:0:0]"]) {
      const listen = { DORMOUSE_SANDBOX_LISTEN: `${host}:3001` };
      expect(problemsOf(listen)).toEqual([expect.stringContaining("DORMOUSE_SANDBOX_HOST: is missing")]);
      const reachedAs = (name: string) =>
        parseConfig({ ...listen, DORMOUSE_SANDBOX_HOST: name }).sandboxListen?.reachedAs;
      expect(reachedAs("dormouse.example.internal")).toBe("dormouse.example.internal");
      expect(reachedAs("[fd00::2]")).toBe("[fd00::2]");
    }
    const alone = { DORMOUSE_SANDBOX_HOST: "dormouse.example.internal" };
    expect(problemsOf(alone)).toEqual(["DORMOUSE_SANDBOX_HOST: needs DORMOUSE_SANDBOX_LISTEN beside it"]);
    for (const name of ["http://dormouse", "dormouse:3001", "a b"]) {
      const problems = problemsOf({ DORMOUSE_SANDBOX_LISTEN: "127.0.0.1:3001", DORMOUSE_SANDBOX_HOST: name });
      expect(problems).toEqual([expect.stringContaining("must be a host name")]);
    }
  });

  it("keeps objects in its home, or where it is told", () => {
    expect(parseConfig({ DORMOUSE_HOME: "/srv/dormouse" }).fileStore).toEqual({
      kind: "filesystem",
      root: "/srv/dormouse/store",
    });
    expect(parseConfig({ DORMOUSE_FILE_STORE_ROOT: "/mnt/objects" }).fileStore).toEqual({
      kind: "filesystem",
      root: "/mnt/objects",
    });
  });

  it("takes a bucket of any S3 store, and speaks to one's own by path", () => {
    const own = {
      DORMOUSE_FILE_STORE: "s3",
      DORMOUSE_S3_BUCKET: "dormouse",
      DORMOUSE_S3_ENDPOINT: "http://minio:9000",
    };
    const keys = { DORMOUSE_S3_ACCESS_KEY_ID: "ada", DORMOUSE_S3_SECRET_ACCESS_KEY: "hunter2" };
    expect(parseConfig({ ...own, ...keys }).fileStore).toEqual({
      kind: "s3",
      bucket: "dormouse",
      endpoint: "http://minio:9000",
      region: "us-east-1",
      pathStyle: true,
      credentials: { accessKeyId: "ada", secretAccessKey: "hunter2" },
    });
    expect(parseConfig({ ...own, DORMOUSE_S3_PATH_STYLE: "false" }).fileStore).toMatchObject({ pathStyle: false });
    const { DORMOUSE_S3_ENDPOINT: _, ...vendor } = own;
    expect(parseConfig({ ...vendor, DORMOUSE_S3_REGION: "eu-central-1" }).fileStore).toMatchObject({
      endpoint: null,
      region: "eu-central-1",
      pathStyle: false,
      credentials: null,
    });
  });

  it("never half-configures the file store", () => {
    const bucket = { DORMOUSE_S3_BUCKET: "dormouse" };
    const s3 = { DORMOUSE_FILE_STORE: "s3" };
    expect(problemsOf(s3)).toEqual([expect.stringContaining("DORMOUSE_S3_BUCKET: is missing")]);
    expect(problemsOf(bucket)).toEqual([expect.stringContaining("needs DORMOUSE_FILE_STORE=s3")]);
    expect(problemsOf({ ...s3, ...bucket, DORMOUSE_FILE_STORE_ROOT: "/mnt" })).toEqual([
      expect.stringContaining("DORMOUSE_FILE_STORE_ROOT: cannot be used when"),
    ]);
    expect(problemsOf({ ...s3, ...bucket, DORMOUSE_S3_ACCESS_KEY_ID: "ada" })).toEqual([
      expect.stringContaining("DORMOUSE_S3_SECRET_ACCESS_KEY: is missing"),
    ]);
  });

  it("does not repeat a secret that it refuses", () => {
    const key = Buffer.from("almost a master key").toString("base64");
    const url = "postgre://ada:hunter2@localhost";
    expect(problemsOf({ DORMOUSE_MASTER_KEY: key, DATABASE_URL: url }).join()).not.toMatch(
      new RegExp(`${key}|hunter2`),
    );
  });

  it("is described, variable by variable, in .env.example", () => {
    const names = (file: string, pattern: RegExp) =>
      [...readFileSync(new URL(file, import.meta.url), "utf8").matchAll(pattern)].map((match) => match[1]).sort();
    const described = names("../.env.example", /^#([A-Z0-9_]+)=/gm);
    expect(described).toEqual(names("./config.ts", /^ {2}([A-Z0-9_]+): /gm));
    expect(described.length).toBeGreaterThan(5);
  });
});

describe("the way out, in the configuration", () => {
  it("is open and without a proxy by default", () => {
    expect(parseConfig({})).toMatchObject({
      demoPace: "human",
      egress: { kind: "open", allow: [] },
      proxy: { http: null, https: null, except: "" },
    });
  });

  it("reads exceptions by host or host and port", () => {
    const { egress } = parseConfig({
      DORMOUSE_EGRESS: "off",
      DORMOUSE_EGRESS_ALLOW: "Mirror.example.org:8443, 10.0.0.5,[fd00::1]:443",
    });
    expect(egress).toEqual({
      kind: "off",
      allow: [
        { host: "mirror.example.org", port: 8443 },
        { host: "10.0.0.5", port: null },
        { host: "fd00::1", port: 443 },
      ],
    });
  });

  it("reads the machine's proxy in either case, with or without its scheme", () => {
    const { proxy } = parseConfig({ https_proxy: "proxy.example.org:3128", NO_PROXY: "localhost" });
    expect(proxy).toEqual({ http: null, https: "http://proxy.example.org:3128", except: "localhost" });
  });

  it.each([
    ["DORMOUSE_EGRESS_ALLOW", "http://mirror.example.org"],
    ["DORMOUSE_EGRESS_ALLOW", "mirror.example.org:99999"],
    ["HTTPS_PROXY", "socks5://proxy.example.org"],
    ["DORMOUSE_EGRESS", "maybe"],
    ["DORMOUSE_DEMO_PACE", "fast"],
  ])("names %s when it is %s", (name, value) => {
    expect(problemsOf({ [name]: value }).join()).toContain(name);
  });
});
