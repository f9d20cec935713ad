import { createReadStream } from "node:fs";
import { restoreDirectory } from "../restore-directory.ts";
import type { SwapPhase } from "../swap-directory.ts";

/** Restores an archive and is killed where it was told to be: as by the kernel, with no time to clean up. */
const [, , archive = "", directory = "", phase = ""] = process.argv;

function die(): void {
  process.kill(process.pid, "SIGKILL");
  // The signal is on its way; nothing more may happen until it has come.
  for (;;);
}

await restoreDirectory({
  source: createReadStream(archive, { highWaterMark: 16_384 }),
  directory,
  rootName: "workspace",
  unrelated: "refuse",
  limits: { maxBytes: 1e9, maxEntries: 100_000 },
  signal: AbortSignal.timeout(60_000),
  reach: (reached: SwapPhase) => void (reached === phase && die()),
  async inspect() {
    if (phase === "inspected") die();
    return { isUntouched: true };
  },
});
