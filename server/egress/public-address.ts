import { BlockList, isIP } from "node:net";

// Everything that is not the public internet: the host itself, its networks, cloud metadata
// (169.254.169.254, fd00:ec2::254 and 100.100.100.200 lie in these ranges), and groups of hosts.
const refused4: readonly [string, number, string][] = [
  ["0.0.0.0", 8, "this host"],
  ["127.0.0.0", 8, "a loopback address"],
  ["10.0.0.0", 8, "a private address"],
  ["172.16.0.0", 12, "a private address"],
  ["192.168.0.0", 16, "a private address"],
  ["100.64.0.0", 10, "a carrier's private address"],
  ["169.254.0.0", 16, "a link-local address"],
  ["192.0.0.0", 24, "a reserved address"],
  ["198.18.0.0", 15, "a private test network"],
  ["168.63.129.16", 32, "a cloud's own address"],
  ["224.0.0.0", 4, "a multicast address"],
  ["240.0.0.0", 4, "a reserved address"],
];
// Of IPv6 only global unicast is public at all; what embeds an IPv4 address could lead to any of the above.
const refused6: readonly [string, number, string][] = [
  ["2001::", 23, "a reserved or tunnelled address"],
  ["2002::", 16, "a tunnelled IPv4 address"],
];
const lists4 = refused4.map(([net, prefix, reason]) => ({ list: listOf(net, prefix, "ipv4"), reason }));
const lists6 = refused6.map(([net, prefix, reason]) => ({ list: listOf(net, prefix, "ipv6"), reason }));
const globalUnicast = listOf("2000::", 3, "ipv6");

/** Why a sandbox may not connect to this address; null when it is public. */
export function refusalOfAddress(address: string): string | null {
  const version = isIP(address);
  if (version === 4) return lists4.find(({ list }) => list.check(address, "ipv4"))?.reason ?? null;
  if (version !== 6 || address.includes("%")) return "not an address";
  // Loopback, link-local, unique local, multicast, IPv4-mapped and NAT64 (64:ff9b::/96) all lie outside.
  if (!globalUnicast.check(address, "ipv6")) return "not a public IPv6 address";
  return lists6.find(({ list }) => list.check(address, "ipv6"))?.reason ?? null;
}

function listOf(net: string, prefix: number, family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  list.addSubnet(net, prefix, family);
  return list;
}
