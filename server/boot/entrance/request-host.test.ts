import { describe, expect, it } from "vitest";
import { isExpectedHost, readHost } from "./request-host.ts";

const read = (...hosts: string[]) =>
  readHost({ headers: { host: hosts[0] ?? "" }, rawHeaders: hosts.flatMap((host) => ["Host", host]) });

describe("the host of a request", () => {
  it.each([
    ["localhost:3000", "localhost", "localhost:3000"],
    ["LocalHost", "localhost", "localhost"],
    ["dormouse.example.com.", "dormouse.example.com", "dormouse.example.com"],
    ["127.0.0.1:80", "127.0.0.1", "127.0.0.1:80"],
    ["[::1]:3000", "::1", "[::1]:3000"],
    ["[2001:DB8::1]", "2001:db8::1", "[2001:db8::1]"],
  ])("%s is read as %s", (given, name, host) => {
    expect(read(given)).toEqual({ name, host });
  });

  it.each([
    "",
    ":3000",
    "ada@localhost",
    "localhost:99999",
    "localhost:3000:3000",
    "[fe80::1%eth0]",
    "[::1",
    "[x]",
    "[:::]",
    "a/b",
    "a b",
    "bücher.example",
    "%6cocalhost",
  ])("%j is none", (given) => {
    expect(read(given)).toBeNull();
  });

  it("is none where there is no header, or more than one", () => {
    expect(readHost({ headers: {}, rawHeaders: [] })).toBeNull();
    expect(read("localhost", "localhost")).toBeNull();
  });
});

describe("an expected host", () => {
  it("is every address, localhost and each name that was configured, with what is below a suffix", () => {
    const expected = ["dormouse.example.com", ".internal"];
    const isExpected = (name: string) => isExpectedHost(name, expected);
    for (const name of ["127.0.0.1", "192.168.1.9", "::1", "localhost", "dormouse.example.com", "a.b.internal"]) {
      expect(isExpected(name), name).toBe(true);
    }
    // What a resolver might take for loopback is a name to us.
    const names = [
      "example.com",
      "x.dormouse.example.com",
      "internal",
      "xinternal",
      "a.localhost",
      "0x7f.1",
      "2130706433",
    ];
    for (const name of [...names, "dormouse.example.com.attacker.example"]) expect(isExpected(name), name).toBe(false);
  });
});
