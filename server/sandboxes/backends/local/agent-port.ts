import { type AddressInfo, createServer } from "node:net";
import { z } from "zod";
import type { SandboxAddress } from "../../sandbox-backend.ts";

// In a network namespace of its own every port is free.
const insidePort = 4180;

const localAddress = z.object({ agentPort: z.number().int() });

/**
 * Under `host` the port is chosen once and then kept, since addresses that the agent wrote down contain
 * it; another one is taken only when somebody else has it now.
 */
export async function chooseAgentPort(isolation: "sandboxed" | "host", previous: SandboxAddress | null) {
  if (isolation === "sandboxed") return insidePort;
  const kept = localAddress.safeParse(previous);
  if (kept.success && (await listenBriefly(kept.data.agentPort)) !== null) return kept.data.agentPort;
  const free = await listenBriefly(0);
  if (free === null) throw new Error("No port is free on loopback.");
  return free;
}

function listenBriefly(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ host: "127.0.0.1", port }, () => {
      const { port: chosen } = server.address() as AddressInfo;
      server.close(() => resolve(chosen));
    });
  });
}
