import { bootstrap } from "./lib/bootstrap.mjs";
import { launch } from "./lib/launch.mjs";
import { runProgram } from "./lib/problem.mjs";

await runProgram(async () => {
  const { node, root } = await bootstrap();
  return launch({ node, root, parameters: ["server/boot/run-reset-password.ts", ...process.argv.slice(2)] });
});
