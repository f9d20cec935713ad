import { fork } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findPrograms } from "../sandboxes/backends/local/find-programs.ts";
import { BootError } from "./boot-error.ts";

/** Prices and limits of the models that the installed opencode knows. */
export const cataloguePath = (root: string) => join(root, "dist", "model-catalogue.json");

// Raised when read-catalogue.ts takes something else from the same opencode.
const format = 1;

export interface CatalogueOptions {
  root: string;
  signal: AbortSignal;
  /** Wraps the work only when there is some. */
  step?: (work: () => Promise<void>) => Promise<void>;
}

/** Makes the catalogue when there is none of the installed opencode: that takes some seconds, once for each version. */
export async function buildCatalogue({ root, signal, step = (work) => work() }: CatalogueOptions): Promise<void> {
  const { path: opencode, version } = findPrograms(root).opencode;
  const edition = `${version}, format ${format}`;
  const path = cataloguePath(root);
  if ((await readEdition(path)) === edition) return;
  await step(async () => {
    await mkdir(dirname(path), { recursive: true });
    await runCatalogue([opencode, edition, path], signal);
  });
}

/** It is the first field of a file that is large to parse. */
async function readEdition(path: string): Promise<string | null> {
  const file = await open(path).catch(() => null);
  if (!file) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
    return /^\{"edition":"([^"]+)"/.exec(buffer.toString("utf8", 0, bytesRead))?.[1] ?? null;
  } finally {
    await file.close();
  }
}

// Through a small program of our own that ends opencode when this process dies, however it dies.
async function runCatalogue(parameters: string[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const program = join(import.meta.dirname, "run-catalogue.ts");
  const child = fork(program, parameters, { stdio: ["ignore", "ignore", "pipe", "ipc"], detached: true });
  let problem = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    problem = (problem + chunk).slice(-2000);
  });
  const disconnect = () => child.connected && child.disconnect();
  signal.addEventListener("abort", disconnect);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
  signal.removeEventListener("abort", disconnect);
  signal.throwIfAborted();
  if (code !== 0) throw new BootError(`The catalogue of models could not be read from opencode.\n${problem.trim()}`);
}
