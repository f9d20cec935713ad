import { describe, expect, it } from "vitest";
import { refusalOfAddress } from "./public-address.ts";
import { bypassesProxy } from "./reach.ts";
import { parseTarget } from "./target.ts";

describe("an address", () => {
  it.each([
    "127.0.0.1",
    "127.255.0.9",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "168.63.129.16",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "fe80::1",
    "fec0::1",
    "fd00:ec2::254",
    "fc00::1",
    "ff02::1",
    "2002:7f00:1::",
    "2001::1",
    "not-an-address",
  ])("%s is refused", (address) => expect(refusalOfAddress(address)).toBeTruthy());

  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.2.1", "2606:4700::1111", "2a00:1450::8a"])(
    "%s is public",
    (address) => expect(refusalOfAddress(address)).toBeNull(),
  );
});

describe("a target", () => {
  it("is a name or an address with a port, in one spelling", () => {
    expect(parseTarget("Registry.Example.ORG.:443")).toEqual({ host: "registry.example.org", port: 443 });
    expect(parseTarget("[2606:4700::1111]:443")).toEqual({ host: "2606:4700::1111", port: 443 });
    expect(parseTarget("8.8.8.8:80")).toEqual({ host: "8.8.8.8", port: 80 });
  });

  // Resolvers read these as addresses, or they are no target at all.
  it.each([
    "127.1:80",
    "0x7f000001:80",
    "2130706433:80",
    "0177.0.0.1:80",
    "a.0x7f:80",
    "::1:80",
    "[::1%lo]:80",
    "example.org",
    "example.org:0",
    "example.org:70000",
    "a b:80",
    "http://example.org:80",
    "user@example.org:80",
    ":80",
  ])("is not %s", (authority) => expect(parseTarget(authority)).toBeNull());

  it("passes by the proxy where NO_PROXY says so", () => {
    const target = { host: "npm.example.org", port: 443 };
    for (const except of [
      "*",
      "example.org",
      ".example.org",
      "a, npm.example.org",
      "*.example.org",
      "example.org:443",
    ]) {
      expect(bypassesProxy(target, except)).toBe(true);
    }
    for (const except of ["", "ample.org", "other.org", "example.org:80"]) {
      expect(bypassesProxy(target, except)).toBe(false);
    }
  });
});
