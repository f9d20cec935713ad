import { expect, test } from "vitest";
import { createWorkspaceLocks } from "./workspace-locks.ts";

const never = new AbortController().signal;

function createScene() {
  const locks = createWorkspaceLocks();
  const told: string[] = [];
  const step = (name: string, kind: "share" | "haveAlone", signal = never) => {
    const end = Promise.withResolvers<void>();
    const done = locks[kind]("a", signal, async () => {
      told.push(`${name} begins`);
      await end.promise;
      told.push(`${name} ends`);
    });
    done.catch(() => {});
    return { end: end.resolve, done };
  };
  return { locks, told, step };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("any number share a workspace; one that has it alone waits for them, and later ones wait for it", async () => {
  const { told, step } = createScene();
  const one = step("one", "share");
  const two = step("two", "share");
  const alone = step("alone", "haveAlone");
  const late = step("late", "share");
  await settle();
  expect(told).toEqual(["one begins", "two begins"]);
  one.end();
  await one.done;
  await settle();
  expect(told).toEqual(["one begins", "two begins", "one ends"]);
  two.end();
  await two.done;
  await settle();
  expect(told.slice(3)).toEqual(["two ends", "alone begins"]);
  alone.end();
  await alone.done;
  await settle();
  expect(told.slice(5)).toEqual(["alone ends", "late begins"]);
  late.end();
  await late.done;
});

test("whoever gives up waiting is in nobody's way", async () => {
  const { told, step } = createScene();
  const one = step("one", "share");
  const leaving = new AbortController();
  const alone = step("alone", "haveAlone", leaving.signal);
  const late = step("late", "share");
  leaving.abort(new Error("gone"));
  await expect(alone.done).rejects.toThrow("gone");
  await settle();
  expect(told).toEqual(["one begins", "late begins"]);
  one.end();
  late.end();
  await Promise.all([one.done, late.done]);
});

test("what would be lost in a restore is refused at once, and another workspace is another matter", async () => {
  const { locks, step } = createScene();
  const one = step("one", "share");
  expect(await locks.shareNow("a", async () => "changed")).toBe("changed");
  const alone = step("alone", "haveAlone");
  await expect(locks.shareNow("a", async () => "changed")).rejects.toMatchObject({ kind: "conflict" });
  expect(await locks.shareNow("b", async () => "changed")).toBe("changed");
  one.end();
  await one.done;
  await expect(locks.shareNow("a", async () => "changed")).rejects.toMatchObject({ kind: "conflict" });
  alone.end();
  await alone.done;
  expect(await locks.shareNow("a", async () => "changed")).toBe("changed");
});

test("work that fails lets the next one in", async () => {
  const { locks } = createScene();
  const failing = locks.haveAlone("a", never, () => Promise.reject(new Error("no")));
  const next = locks.share("a", never, async () => "next");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("next");
});
