import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { clientAddressHeader } from "../auth/client-address.ts";
import { createClientAddress } from "./trusted-client-address.ts";

const forged = { [clientAddressHeader]: "6.6.6.6", "x-real-ip": "6.6.6.6", forwarded: "for=6.6.6.6" };

function see(options: { trusted: string[]; peer: string; forwardedFor?: string }) {
  const headers: Record<string, string> = { ...forged, "x-forwarded-proto": "https" };
  if (options.forwardedFor) headers["x-forwarded-for"] = options.forwardedFor;
  const request = { socket: { remoteAddress: options.peer }, headers } as unknown as IncomingMessage;
  createClientAddress(options.trusted)(request);
  return { address: headers[clientAddressHeader], headers };
}

describe("the client's address", () => {
  it("is the peer's, whatever the headers of a stranger say", () => {
    const { address, headers } = see({ trusted: [], peer: "203.0.113.9", forwardedFor: "6.6.6.6" });
    expect(address).toBe("203.0.113.9");
    expect(Object.keys(headers)).toEqual([clientAddressHeader]);
  });

  it("is told by a trusted proxy, in address, range, IPv6 and mapped form", () => {
    const forwardedFor = "198.51.100.7";
    for (const [trusted, peer] of [
      ["127.0.0.1", "127.0.0.1"],
      ["10.0.0.0/8", "10.20.30.40"],
      ["10.0.0.0/8", "::ffff:10.20.30.40"],
      ["fd00::/8", "fd12::1"],
    ] as const) {
      expect(see({ trusted: [trusted], peer, forwardedFor }).address).toBe(forwardedFor);
    }
  });

  it("is read from the right, as far as trusted proxies tell", () => {
    const trusted = ["10.0.0.0/8"];
    const told = (forwardedFor: string) => see({ trusted, peer: "10.0.0.1", forwardedFor }).address;
    expect(told("6.6.6.6, 198.51.100.7, 10.0.0.2")).toBe("198.51.100.7");
    expect(told("6.6.6.6, 198.51.100.7")).toBe("198.51.100.7");
    expect(told("10.0.0.3, 10.0.0.2")).toBe("10.0.0.3");
  });

  it("is the last one that can be believed when the header is nonsense", () => {
    const trusted = ["10.0.0.0/8"];
    for (const forwardedFor of ["unknown", "", " , ,", "198.51.100.7, <script>"]) {
      expect(see({ trusted, peer: "10.0.0.1", forwardedFor }).address).toBe("10.0.0.1");
    }
  });
});
