import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { clientAddressHeader } from "../../auth/client-address.ts";
import type { Config } from "../../config.ts";
import { maxBodyBytes } from "../../protocol/body-limits.ts";
import { createClientAddress, createProxyCheck } from "../trusted-client-address.ts";
import { checkAction } from "./check-action.ts";
import { createRequestCheck, isHealthPath } from "./check-request.ts";
import { createConnectionPlaces } from "./connection-places.ts";
import { type HeldBody, holdBody } from "./hold-body.ts";
import { hasBody, type Refusal, refusal, refuseRequest, refuseSocket } from "./refusal.ts";

export interface EntranceOptions {
  config: Pick<Config, "trustedProxies" | "allowedHosts" | "publicUrl" | "maxConnections">;
  /** How long a body may stand still. */
  bodyIdleMilliseconds?: number;
  /** How long somebody who was refused may go on sending, so as to hear why. */
  lingerMilliseconds?: number;
}

/** What everything that comes in passes before anybody reads it: pages, actions, sign-in, routes and upgrades alike. */
export interface Entrance {
  connect(socket: Socket): void;
  /** True once the request may be served: its body is there. Otherwise it has been answered. */
  enter(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  enterUpgrade(request: IncomingMessage, socket: Duplex): boolean;
  refuse(request: IncomingMessage, response: ServerResponse, refused: Refusal): void;
  refuseSocket(socket: Duplex, refused: Refusal): void;
}

const stalled = refusal("invalid-input", "The rest of this request did not come in time. Send it again.", 408);

const noBody: HeldBody = { outcome: "whole", chunks: [] };

export function createEntrance(options: EntranceOptions): Entrance {
  const { config, bodyIdleMilliseconds = 30_000, lingerMilliseconds = 2_000 } = options;
  const setClientAddress = createClientAddress(config.trustedProxies);
  const places = createConnectionPlaces(config.maxConnections, createProxyCheck(config.trustedProxies));
  const check = createRequestCheck(config);

  const entrance: Entrance = {
    connect: places.connect,
    refuse: (request, response, refused) => refuseRequest(request, response, { refused, lingerMilliseconds }),
    refuseSocket: (socket, refused) => refuseSocket(socket, { refused, lingerMilliseconds }),

    async enter(request, response) {
      setClientAddress(request);
      const refuse = (refused: Refusal) => {
        entrance.refuse(request, response, refused);
        return false;
      };
      const { path, refused } = check(request, { isUpgrade: false });
      // What watches over the server has to see that it lives, however many there are.
      const place = places.enter(request.socket, String(request.headers[clientAddressHeader]));
      if (place.refused && !isHealthPath(path)) return refuse(place.refused);
      if (place.refused) response.setHeader("connection", "close");
      else response.once("close", place.leave);
      if (refused) return refuse(refused);

      const maxBytes = maxBodyBytes(path);
      if (Number(request.headers["content-length"] ?? 0) > maxBytes) return refuse(tooLarge(maxBytes));
      if (request.headers.expect) response.writeContinue();
      if (maxBytes === Number.POSITIVE_INFINITY) return true;
      const held = hasBody(request)
        ? await holdBody(request, { maxBytes, idleMilliseconds: bodyIdleMilliseconds })
        : noBody;
      if (held.outcome === "gone") return false;
      if (held.outcome !== "whole") return refuse(held.outcome === "stalled" ? stalled : tooLarge(maxBytes));
      const wrong = isAction(request, path) ? checkAction(request, Buffer.concat(held.chunks)) : null;
      return wrong ? refuse(wrong) : true;
    },

    enterUpgrade(request, socket) {
      setClientAddress(request);
      const { refused } = check(request, { isUpgrade: true });
      if (refused) entrance.refuseSocket(socket, refused);
      return refused === null;
    },
  };
  return entrance;
}

function tooLarge(maxBytes: number): Refusal {
  return refusal("too-large", `This request is too large. The limit here is ${maxBytes / 1024} KB.`);
}

/** Pages are read; whatever else is done with them is a server action. Next's own paths are for its development. */
function isAction({ method = "GET" }: IncomingMessage, path: string): boolean {
  return !["GET", "HEAD", "OPTIONS"].includes(method) && !/^\/(api|_next|__nextjs[^/]*)(\/|$)/.test(path);
}
