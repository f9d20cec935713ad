import { describe, expect, it } from "vitest";
import { createLifetime } from "./lifetime.ts";

const logger = { error: () => {}, warn: () => {} };

describe("the end of a server", () => {
  it("is no reload once somebody asks for the end, and no reload begins after that", () => {
    const lifetime = createLifetime(logger);
    lifetime.beginReload();
    expect(lifetime.stopping.aborted).toBe(true);
    expect(lifetime.reloading).toBe(true);
    lifetime.beginEnd();
    expect(lifetime.reloading).toBe(false);
    lifetime.beginReload();
    expect(lifetime.reloading).toBe(false);
  });

  it("closes last what was opened first", async () => {
    const lifetime = createLifetime(logger);
    const closed: string[] = [];
    for (const name of ["home", "database", "pages"]) lifetime.add(name, 1000, () => void closed.push(name));
    await lifetime.close();
    expect(closed).toEqual(["pages", "database", "home"]);
  });
});
