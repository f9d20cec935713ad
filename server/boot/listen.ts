import type { Server } from "node:http";
import { BlockList, isIP } from "node:net";
import type { Config } from "../config.ts";
import { BootError } from "./boot-error.ts";
import { findPortHolder } from "./port-holder.ts";

export interface Listening {
  port: number;
  /** Where this machine reaches the server: an address that listens everywhere is named by loopback. */
  url: string;
  beyondLoopback: boolean;
}

const tries = 20;

export async function listen(options: {
  server: Server;
  host: string;
  port: Config["port"];
  onMoved?: (line: string) => void;
  /** What to change when it cannot be had. */
  variables?: { host: string; port: string };
}): Promise<Listening> {
  const { server, host, port, onMoved = () => {} } = options;
  const { variables = { host: "DORMOUSE_HOST", port: "DORMOUSE_PORT" } } = options;
  const last = port.kind === "fixed" ? port.port : Math.min(port.port + tries - 1, 65_535);
  for (let candidate = port.port; candidate <= last; candidate++) {
    const error = await tryListen(server, host, candidate);
    if (!error) {
      if (candidate !== port.port) onMoved(`Port ${port.port} is taken: using ${candidate}`);
      return describeListening(server, host);
    }
    if (error.code !== "EADDRINUSE" || port.kind === "fixed") {
      throw await listenError({ error, host, port: candidate, variables });
    }
  }
  throw new BootError(
    `The ports ${port.port} to ${last} of ${host} are all taken. Set ${variables.port} to a free one.`,
  );
}

function tryListen(server: Server, host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off("listening", onListening);
      resolve(error);
    };
    const onListening = () => {
      server.off("error", onError);
      resolve(null);
    };
    server.once("error", onError);
    server.once("listening", onListening);
    server.listen(port, host);
  });
}

function describeListening(server: Server, host: string): Listening {
  const bound = server.address();
  if (typeof bound !== "object" || !bound) throw new Error("An HTTP server without an address is not listening.");
  const everywhere = bound.address === "0.0.0.0" || bound.address === "::";
  const name = everywhere ? "127.0.0.1" : isIP(host) === 6 ? `[${host}]` : host;
  return { port: bound.port, url: `http://${name}:${bound.port}`, beyondLoopback: !isLoopback(bound.address) };
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function isLoopback(address: string): boolean {
  return loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

async function listenError(options: {
  error: NodeJS.ErrnoException;
  host: string;
  port: number;
  variables: { host: string; port: string };
}): Promise<BootError> {
  const { error, host, port, variables } = options;
  const both = [...new Set([variables.host, variables.port])].join(" and ");
  const explain = async () => {
    switch (error.code) {
      case "EADDRINUSE": {
        const holder = await findPortHolder(port);
        const who = holder ? ` by ${holder.name} (pid ${holder.pid})` : "";
        return `Port ${port} is taken${who}. Stop what uses it, or set ${variables.port} to another port.`;
      }
      case "EACCES":
        return `Port ${port} needs more rights than this user has. Set ${variables.port} to one above 1023.`;
      case "EADDRNOTAVAIL":
        return `This machine has no address ${host}. Set ${variables.host} to one that it has, such as 127.0.0.1 or 0.0.0.0.`;
      case "ENOTFOUND":
      case "EAI_AGAIN":
        return `The name ${host} cannot be resolved. Set ${variables.host} to an address of this machine, such as 127.0.0.1.`;
      default:
        return `Listening on ${host}:${port} failed (${error.code ?? error.message}). Check ${both}.`;
    }
  };
  return new BootError(await explain(), { cause: error });
}
