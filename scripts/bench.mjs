import { bootstrap } from "./lib/bootstrap.mjs";
import { bringPigz } from "./lib/bring-pigz.mjs";
import { launch } from "./lib/launch.mjs";
import { runProgram } from "./lib/problem.mjs";

await runProgram(async () => {
  const { node, root, steps } = await bootstrap();
  // `npm run bench -- archives` needs no server; all else does.
  const [first, ...rest] = process.argv.slice(2);
  const isArchives = first === "archives";
  if (isArchives) await bringPigz({ root, steps });
  const parameters = isArchives ? ["bench/archives.ts", ...rest] : ["bench/main.ts", ...process.argv.slice(2)];
  return launch({ node, root, parameters });
});
