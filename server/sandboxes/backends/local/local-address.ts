import { type AddressInfo, createServer } from "node:net";
import { z } from "zod";
import type { SandboxAddress } from "../../../protocol/sandbox.ts";
import { toAddress } from "../../sandbox-backend.ts";
import type { LocalIsolation } from "./local-isolations.ts";

// In a network namespace of its own every port is free.
const insidePort = 4180;

// Everything else follows from the sandbox's id and is found in the home.
const localAddress = z.object({ agentPort: z.number().int().optional() });

export function toLocalAddress(content: z.infer<typeof localAddress>): SandboxAddress {
  return toAddress(content);
}

/**
 * Under `host` the port is chosen once and then kept, since addresses that the agent wrote down contain
 * it; another one is taken only when somebody else has it now.
 */
export async function chooseAgentPort(isolation: LocalIsolation, previous: SandboxAddress | null) {
  if (isolation === "sandboxed") return insidePort;
  const kept = localAddress.safeParse(previous).data?.agentPort;
  if (kept !== undefined && (await listenBriefly(kept)) !== null) return kept;
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
