import { describe, expect, it } from "vitest";
import { isProcessAlive, waitUntil } from "../boot/processes.ts";
import { runProgram } from "./run-program.ts";

const shell = (script: string, signal = AbortSignal.timeout(10_000)) =>
  runProgram({ path: "/bin/sh", parameters: ["-c", script], environment: { PATH: "/usr/bin:/bin" }, signal });

describe("running a program", () => {
  it("tells its exit code and what it wrote", async () => {
    expect(await shell("echo out; echo complaint >&2; exit 3")).toEqual({
      code: 3,
      output: "out\n",
      complaint: "complaint\n",
    });
  });

  it("gives it nothing of our own environment", async () => {
    expect((await shell("env | cut -d= -f1 | sort | tr '\\n' ' '")).output).not.toMatch(/NODE|HOME|USER/);
  });

  it("rejects when there is no such program", async () => {
    const run = runProgram({
      path: "/absent/program",
      parameters: [],
      environment: {},
      signal: AbortSignal.timeout(10_000),
    });
    await expect(run).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("does not wait for a descendant that keeps the output open, and ends it", async () => {
    const { code, output } = await shell("sleep 300 & echo $!");
    expect(code).toBe(0);
    expect(await waitUntil(() => !isProcessAlive(Number(output)), 5_000)).toBe(true);
  });

  it("stops at once when aborted, together with all it started", async () => {
    const abort = new AbortController();
    const run = shell("sleep 300 & sleep 300", abort.signal);
    setTimeout(() => abort.abort(new Error("too late")), 100);
    // It would outlast the test otherwise.
    await expect(run).rejects.toThrow("too late");
  });
});
