import { bootstrap } from "./lib/bootstrap.mjs";
import { launch } from "./lib/launch.mjs";
import { runProgram } from "./lib/problem.mjs";

await runProgram(async () => {
  const { node, root } = await bootstrap();
  const environment = { NODE_ENV: "development" };
  return launch({ node, root, parameters: ["server/main.ts"], environment });
});
