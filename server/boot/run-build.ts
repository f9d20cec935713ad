import { spawn } from "node:child_process";
import { createRequire } from "node:module";

/**
 * Runs `next build` for build-if-needed.ts, in this process's own group. When the channel to the starter
 * closes, the whole group ends: no build goes on unwatched, writing where the next start builds.
 */
const next = createRequire(import.meta.url).resolve("next/dist/bin/next");
const child = spawn(process.execPath, [next, "build"], { stdio: ["ignore", "inherit", "inherit"] });

process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
child.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
child.on("exit", (code) => process.exit(code ?? 1));
