import { chmod, rm } from "node:fs/promises";
import { createRequestServer, type RequestServer, type SandboxRequests } from "../../sandbox-requests.ts";

/**
 * Where one sandbox reaches the server. In the directory of this socket only the server may write, and
 * only the sandbox may enter, so that neither another sandbox nor the sandbox itself can stand in for it.
 */
export async function openServerSocket(path: string, requests: SandboxRequests): Promise<RequestServer> {
  const opened = createRequestServer(requests);
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    opened.server.once("error", reject);
    opened.server.listen({ path }, resolve);
  });
  await chmod(path, 0o666);
  return opened;
}
