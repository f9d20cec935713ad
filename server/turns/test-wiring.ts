import { resolve } from "node:path";
import { parseConfig } from "../config.ts";
import { createLogger } from "../lib/logger.ts";
import { type Wiring, type WiringInput, wire } from "../wiring.ts";

export const projectRoot = resolve(import.meta.dirname, "../..");

/** What any process needs to be the server of a test: the next one with the same home takes over. */
export interface TestSetup {
  applicationUrl: string;
  home: string;
  environment: Record<string, string>;
  /** Of a server beside others with the same home. */
  name?: string;
}

export function wireTestServer(setup: TestSetup, changes: Partial<WiringInput> = {}): Promise<Wiring> {
  const { applicationUrl, home, environment, name } = setup;
  return wire({
    config: parseConfig({ PATH: parseConfig().searchPath, DORMOUSE_HOME: home, ...environment }),
    root: projectRoot,
    home,
    applicationUrl,
    masterKey: Buffer.alloc(32, 7),
    publicUrl: "http://127.0.0.1:1",
    logger: createLogger("error"),
    stopping: new AbortController().signal,
    ...(name !== undefined && { homeId: name }),
    ...changes,
  });
}
