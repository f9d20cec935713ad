import { describe, expect, it } from "vitest";
import { asText, foldersTouched, fromSession, pictureType } from "./file-kind.ts";

describe("files of a session", () => {
  it("are shown as text only when they are text", () => {
    expect(asText(new TextEncoder().encode("größe\n"))).toBe("größe\n");
    expect(asText(new Uint8Array([1, 0, 2]))).toBeNull();
    expect(asText(new Uint8Array([0xff, 0xfe, 0x41]))).toBeNull();
  });

  it("are named from the session's directory", () => {
    expect(fromSession("sessions/s1/outputs/a.html", "s1")).toBe("outputs/a.html");
    expect(fromSession("outputs/a.html", "s1")).toBe("outputs/a.html");
  });

  it("make their folders be read again, up to the top", () => {
    expect(foldersTouched(["a/b/c.txt"])).toEqual(new Set(["a/b/c.txt", "a/b", "a", ""]));
  });

  it("are pictures by their ending", () => {
    expect(pictureType("a/B.PNG")).toBe("image/png");
    expect(pictureType("notes.md")).toBeNull();
    expect(pictureType("a.constructor")).toBeNull();
  });
});
