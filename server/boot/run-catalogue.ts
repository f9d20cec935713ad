import { rename, writeFile } from "node:fs/promises";
import { readCatalogue } from "../agent/read-catalogue.ts";

/**
 * Makes the file of the catalogue for build-catalogue.ts, in this process's own group. When the channel to
 * the starter closes, the whole group ends: no opencode goes on unwatched.
 */
const [opencode = "", edition = "", path = ""] = process.argv.slice(2);
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
const providers = await readCatalogue(opencode, AbortSignal.timeout(90_000));
const made = `${path}.${process.pid}`;
await writeFile(made, JSON.stringify({ edition, providers }));
await rename(made, path);
process.disconnect?.();
process.exit(0);
