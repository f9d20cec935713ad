import { Server } from "node:http";
import next from "next";
import type { RequestHandler, UpgradeHandler } from "./http-server.ts";

export interface HostedNext {
  handle: RequestHandler;
  /** Hot reload, in development only. */
  upgrade: UpgradeHandler;
  close(): Promise<void>;
}

/**
 * Next attaches itself to the upgrades of the HTTP server that it is given and ends those it does not
 * know. So it gets one that never listens, and only hot reload's upgrades are passed on to it.
 */
export async function hostNext(options: {
  root: string;
  development: boolean;
  hostname: string;
  port: number;
}): Promise<HostedNext> {
  const { root, development, hostname, port } = options;
  const upgrades = new Server();
  const app = next({ dev: development, dir: root, customServer: true, httpServer: upgrades, hostname, port });
  await app.prepare();
  return {
    handle: app.getRequestHandler(),
    upgrade(request, socket, head) {
      if (!development || !request.url?.startsWith("/_next/")) return false;
      return upgrades.emit("upgrade", request, socket, head);
    },
    close: () => app.close(),
  };
}
