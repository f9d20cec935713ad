import { join } from "node:path";
import { bootstrap } from "./lib/bootstrap.mjs";
import { runProgram } from "./lib/problem.mjs";
import { runReloading } from "./lib/run-reloading.mjs";

// Next reloads pages and components by itself. A change of the sidecar reaches sandboxes that wake from then on.
await runProgram(async () => {
  const { node, root } = await bootstrap();
  return runReloading({
    node,
    root,
    folders: ["server", "db", "sidecar"].map((name) => join(root, name)),
    environment: { NODE_ENV: "development" },
    server: ["server/main.ts"],
    check: ["--input-type=module", "--eval", 'await import("./server/boot/start.ts"); process.exit();'],
  });
});
