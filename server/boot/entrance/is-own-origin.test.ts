import { expect, it } from "vitest";
import { isOwnOrigin } from "./is-own-origin.ts";

const publicUrl = "https://dormouse.example.com";

it("takes pages of the host that was asked for, with its port", () => {
  const own = { host: "127.0.0.1:3000", publicUrl: null, scheme: null };
  expect(isOwnOrigin("http://127.0.0.1:3000", own)).toBe(true);
  for (const origin of ["http://127.0.0.1:8080", "http://localhost:3000", "http://127.0.0.1", "null", "", "x"]) {
    expect(isOwnOrigin(origin, own), origin).toBe(false);
  }
  for (const origin of ["file://127.0.0.1:3000", "chrome-extension://127.0.0.1:3000", "blob:http://127.0.0.1:3000/x"]) {
    expect(isOwnOrigin(origin, own), origin).toBe(false);
  }
});

it("takes pages of the public address, whatever host a proxy asks for", () => {
  for (const host of ["127.0.0.1:3000", "dormouse:3000", "dormouse.example.com", "dormouse.example.com:443"]) {
    const own = { host, publicUrl, scheme: null };
    expect(isOwnOrigin(publicUrl, own), host).toBe(true);
    expect(isOwnOrigin("http://dormouse.example.com", own), host).toBe(false);
    expect(isOwnOrigin("https://example.com", own), host).toBe(false);
  }
});

it("knows a default port by its scheme", () => {
  expect(isOwnOrigin("http://a.internal", { host: "a.internal:80", publicUrl: null, scheme: null })).toBe(true);
  expect(isOwnOrigin("https://a.internal", { host: "a.internal:80", publicUrl: null, scheme: null })).toBe(false);
});

it("believes a trusted proxy about the scheme, and takes either where nobody tells", () => {
  const own = { host: "a.internal", publicUrl };
  expect(isOwnOrigin("https://a.internal", { ...own, scheme: null })).toBe(true);
  expect(isOwnOrigin("http://a.internal", { ...own, scheme: null })).toBe(true);
  expect(isOwnOrigin("https://a.internal", { ...own, scheme: "https" })).toBe(true);
  expect(isOwnOrigin("http://a.internal", { ...own, scheme: "https" })).toBe(false);
});
