import { close, constants, open } from "node:fs";
import { promisify } from "node:util";

// Linux's O_PATH, which node:fs does not name: a handle on the entry itself, without reading it.
const pathOnly = 0o10000000;

/** Handles for bubblewrap's --bind-fd, or to reach a socket whose name somebody else may change. The caller closes them. */
export async function openForBinding(paths: readonly string[], options: { follow?: boolean } = {}): Promise<number[]> {
  const flags = pathOnly | (options.follow === false ? constants.O_NOFOLLOW : 0);
  const outcomes = await Promise.allSettled(paths.map((path) => promisify(open)(path, flags)));
  const descriptors = outcomes.filter((outcome) => outcome.status === "fulfilled").map((outcome) => outcome.value);
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (!failure) return descriptors;
  await closeAll(descriptors);
  throw failure.reason;
}

export async function closeAll(descriptors: readonly number[]): Promise<void> {
  await Promise.all(descriptors.map((descriptor) => promisify(close)(descriptor)));
}
