import { describe, expect, it } from "vitest";
import {
  joinDraft,
  promptProblem,
  readDraft,
  readOutbox,
  type Storage,
  withoutShown,
  writeDraft,
  writeOutbox,
} from "./outbox.ts";

function createStorage(): Storage & { size: () => number } {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
    size: () => values.size,
  };
}
const item = { key: "k", text: "hello", problem: null, turnId: null };

describe("the outbox", () => {
  it("survives a reload, by session", () => {
    const storage = createStorage();
    writeOutbox(storage, "a", [item]);
    expect(readOutbox(storage, "a")).toEqual([item]);
    expect(readOutbox(storage, "b")).toEqual([]);
    writeOutbox(storage, "a", []);
    expect(storage.size()).toBe(0);
  });

  it("keeps drafts, and forgets an empty one", () => {
    const storage = createStorage();
    writeDraft(storage, "a", "half a th");
    expect(readDraft(storage, "a")).toBe("half a th");
    writeDraft(storage, "a", "");
    expect(storage.size()).toBe(0);
  });

  it("joins a draft with what was written before the page listened, once", () => {
    expect(joinDraft("half a th", "")).toBe("half a th");
    expect(joinDraft("", "early")).toBe("early");
    expect(joinDraft("half a th", "half a th")).toBe("half a th");
    expect(joinDraft("half a th", "early")).toBe("half a th\nearly");
  });

  it("takes damaged storage for an empty one", () => {
    const storage = createStorage();
    storage.setItem("dormouse:outbox:a", "{not json");
    storage.setItem("dormouse:outbox:b", '[{"key":1}]');
    expect([readOutbox(storage, "a"), readOutbox(storage, "b")]).toEqual([[], []]);
  });

  it("works without storage", () => {
    const refuse = () => {
      throw new Error("denied");
    };
    const storage = { getItem: refuse, setItem: refuse, removeItem: refuse };
    writeOutbox(storage, "a", [item]);
    expect(readOutbox(storage, "a")).toEqual([]);
  });

  it("lets go of an item only when its turn is shown elsewhere", () => {
    const items = [item, { ...item, key: "l", turnId: "t1" }];
    expect(withoutShown(items, new Set(["t2"]))).toBe(items);
    expect(withoutShown(items, new Set(["t1"]))).toEqual([item]);
  });

  it("refuses what is empty or over 256 KB, counted in bytes", () => {
    expect(promptProblem(" \n ")).toBe("empty");
    expect(promptProblem("a".repeat(256 * 1024))).toBeNull();
    expect(promptProblem("é".repeat(128 * 1024 + 1))).toMatch(/257 KB/);
  });
});
