import { writtenName } from "../../server/protocol/archive/raw-name.ts";
import { heartbeatMilliseconds } from "../../server/protocol/limits.ts";
import type { Exchange } from "../door/exchange.ts";
import { Problem } from "../sidecar-problem.ts";
import { openDirectory, parsePath, realPathOf } from "./confined-path.ts";
import { watchTree } from "./watch-tree.ts";

const maxWatches = 100;
let watches = 0;

/** `GET /files/watch?path=`. Changes that a slow reader does not take are told as `all` once it reads again. */
export async function serveWatch(exchange: Exchange, root: string): Promise<void> {
  const { response, signal, query } = exchange;
  const path = parsePath(query.get("path"));
  const directory = await openDirectory(root, path);
  const realPath = await realPathOf(directory).finally(() => directory.close());
  if (watches >= maxWatches) throw new Problem("limit-exceeded", "Too many folders are being watched.");
  watches += 1;
  let missed = false;
  const send = (change: { paths: string[]; all: boolean }) => {
    if (!response.headersSent || response.writableNeedDrain) missed = true;
    else response.write(`event: changed\ndata: ${JSON.stringify(change)}\n\n`);
  };
  const makeUp = () => {
    if (!missed) return;
    missed = false;
    send({ paths: [], all: true });
  };
  response.on("drain", makeUp);
  const gone = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => gone.resolve());
  const tree = await watchTree({
    directory: realPath,
    onChanged: ({ paths, all }) =>
      send({ paths: paths.map((name) => writtenName([...path.segments, name].join("/"))), all }),
    onEnd: () => gone.resolve(),
  });
  const comments = setInterval(
    () => response.writableNeedDrain || response.write(": here\n\n"),
    heartbeatMilliseconds.sidecar,
  );
  try {
    // Only now: who has the head misses nothing.
    exchange.stream(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    makeUp();
    if (!signal.aborted) await gone.promise;
  } finally {
    tree.close();
    clearInterval(comments);
    watches -= 1;
    response.end();
  }
}
