import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, makeDirectory, makeHome, runDormouse, runToFailure } from "./run-dormouse.ts";

afterEach(cleanUp);

describe("a wrong configuration", () => {
  it("is named completely in one message, and nothing is started", async () => {
    const said = await runToFailure({
      home: join(await makeDirectory(), "home"),
      environment: {
        DORMOUSE_PORT: "http",
        DORMOUSE_PUBLIC_URL: "dormouse.example.com",
        DORMOUSE_TRUSTED_PROXIES: "10.0.0.0/8, the-proxy",
        DORMOUSE_MASTER_KEY: "secret",
        DORMOUSE_ISOLATION: "none",
        DORMOUSE_LOG_LEVEL: "loud",
        DORMOUSE_HOMES: "/tmp",
        DATABASE_APP_URL: "mysql://localhost",
        DATABASE_REQUIRED: "yes",
      },
    });
    const named = [...said.matchAll(/^ {2}([A-Z_]+): /gm)].map((match) => match[1]);
    expect(new Set(named)).toEqual(
      new Set([
        "DORMOUSE_PORT",
        "DORMOUSE_PUBLIC_URL",
        "DORMOUSE_TRUSTED_PROXIES",
        "DORMOUSE_MASTER_KEY",
        "DORMOUSE_ISOLATION",
        "DORMOUSE_LOG_LEVEL",
        "DORMOUSE_HOMES",
        "DATABASE_APP_URL",
        "DATABASE_REQUIRED",
      ]),
    );
    expect(said).toContain("The configuration is wrong");
    expect(said).not.toContain("Postgres …");
    expect(said).not.toMatch(/^\s+at /m);
  });

  it("is DATABASE_REQUIRED without a DATABASE_URL", async () => {
    const home = join(await makeDirectory(), "home");
    const said = await runToFailure({ home, environment: { DATABASE_REQUIRED: "true" } });
    expect(said).toContain("DATABASE_URL: is missing, and DATABASE_REQUIRED refuses the embedded Postgres");
  });
});

describe("a taken port", () => {
  it("is refused, with its holder's name, when it was asked for", async () => {
    await using taken = await occupy(0);
    const home = join(await makeDirectory(), "home");
    const said = await runToFailure({ home, environment: { DORMOUSE_PORT: String(taken.port) } });
    expect(said).toContain(`Port ${taken.port} is taken by`);
    expect(said).toContain(`(pid ${process.pid})`);
    expect(said).toContain("set DORMOUSE_PORT to another port");
  });

  it("is passed over when it is only the default", async () => {
    await using _ = await occupy(3000);
    const home = await makeHome();
    const dormouse = runDormouse({ home, environment: { DORMOUSE_PORT: "" } });
    const url = await dormouse.ready();
    expect(Number(new URL(url).port)).toBeGreaterThan(3000);
    expect(dormouse.output()).toContain(`Port 3000 is taken: using ${new URL(url).port}`);
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
    dormouse.process.kill("SIGTERM");
    expect(await dormouse.ended()).toBe(0);
  });
});

/** If somebody else has it already, that is as good. */
async function occupy(port: number): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.on("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve() : reject(error)));
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
