import { createFileStore } from "./create-file-store.ts";
import { storeKey } from "./store-key.ts";

/** Writes without end, and says when much of it has left: for a test to kill it there. */
const { config, key, saying } = JSON.parse(process.argv[2] ?? "{}");

// Its standard input ends with whoever started it.
process.stdin.resume().on("end", () => process.exit());

async function* body() {
  const chunk = Buffer.alloc(1024 * 1024, 7);
  for (let sent = 0; ; sent++) {
    // Past the first parts, which are then surely in the store.
    if (sent === 40) console.log(saying);
    if (sent >= 40) await new Promise((resolve) => setTimeout(resolve, 100));
    yield chunk;
  }
}

const store = await createFileStore(config);
await store.write(storeKey(key), body(), new AbortController().signal);
