import { rename, writeFile } from "node:fs/promises";
import { sidecarOrigin } from "../../server/protocol/sidecar.ts";

export type AgentConfig = Record<string, unknown>;

/** Writes opencode.json, with this sidecar's address where the server could only put a placeholder. */
export async function writeAgentConfig(path: string, config: AgentConfig, agentPort: number): Promise<void> {
  const text = JSON.stringify(atHome(config, `http://127.0.0.1:${agentPort}`), null, 2);
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

function atHome(value: unknown, address: string): unknown {
  if (typeof value === "string") {
    return value.startsWith(sidecarOrigin) ? address + value.slice(sidecarOrigin.length) : value;
  }
  if (Array.isArray(value)) return value.map((item) => atHome(item, address));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, atHome(item, address)]));
}
