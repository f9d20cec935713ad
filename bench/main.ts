import { loadavg } from "node:os";
import type { CpuTimes } from "./lib/cpu-time.ts";
import { startDormouse } from "./lib/measured-dormouse.ts";
import { startDirectOpencode } from "./lib/opencode-direct.ts";
import { startScriptedModel } from "./lib/scripted-model.ts";
import { median, quantile } from "./lib/statistics.ts";
import { measureLoad } from "./load.ts";
import { measureTurns, type Round, type TurnCpu } from "./turns.ts";

/**
 * Every speed claim, as a ratio against its peer in the same run: figures of two machines are not
 * comparable, ratios nearly are. `ROUNDS`, `BURSTS`, `LOAD_TURNS`, `LOAD_VIEWERS` and `LOAD_SANDBOXES` set
 * how much; 0 leaves a part out. With the word `load`, the load alone, in its full size.
 */
const part = process.argv[2];
if (part !== undefined && part !== "load") throw new Error(`There is no bench "${part}": it is "archives" or "load".`);
const isLoadAlone = part === "load";
const size = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const rounds = size("ROUNDS", isLoadAlone ? 0 : 30);
const bursts = size("BURSTS", isLoadAlone ? 0 : 5);
const load = {
  turns: size("LOAD_TURNS", isLoadAlone ? 50 : 8),
  viewers: size("LOAD_VIEWERS", isLoadAlone ? 500 : 80),
  sandboxes: size("LOAD_SANDBOXES", isLoadAlone ? 8 : 2),
};

const rows: Record<string, Record<string, string>> = {};
const milliseconds = (value: number) => `${value.toFixed(1)} ms`;
const megabytes = (value: number) => `${(value / 1024 / 1024).toFixed(2)} MB`;

function compare(name: string, through: number, direct: number): void {
  rows[name] = {
    "through Dormouse": milliseconds(through),
    "opencode directly": milliseconds(direct),
    ratio: (through / direct).toFixed(2),
    more: milliseconds(through - direct),
  };
}

function compareCpu(name: string, { through, direct }: TurnCpu): void {
  const sum = (times: CpuTimes) => Object.values(times).reduce((all, time) => all + time, 0);
  compare(`${name}: CPU of a turn`, sum(through), sum(direct));
  for (const [program, time] of Object.entries(through)) {
    const peer = direct[program];
    if (peer === undefined) note(`${name}: CPU of a turn, ${program}`, milliseconds(time));
    else compare(`${name}: CPU of a turn, ${program}`, time, peer);
  }
}

function note(name: string, value: string): void {
  rows[name] = { "through Dormouse": value };
}

await using model = await startScriptedModel();
await using dormouse = await startDormouse();
await chooseModel();
const averages = [loadavg()[0]];

if (rounds + bursts > 0) {
  await using direct = await startDirectOpencode(model.url);
  const medianOf = (list: readonly Round[], what: keyof Round) => median(list.map((round) => round[what]));
  if (rounds > 0) {
    const turns = await measureTurns({ dormouse, direct, prompt: "say hello", warmUp: 3, rounds });
    const p95 = (list: readonly Round[]) =>
      quantile(
        list.map(({ first }) => first),
        0.95,
      );
    compare(`first token, ${rounds} turns, median`, medianOf(turns.through, "first"), medianOf(turns.direct, "first"));
    compare(`first token, ${rounds} turns, p95`, p95(turns.through), p95(turns.direct));
    compare(`end of the turn, ${rounds} turns, median`, medianOf(turns.through, "end"), medianOf(turns.direct, "end"));
    compareCpu("one answer", turns.cpu);
    averages.push(loadavg()[0]);
  }
  if (bursts > 0) {
    const turns = await measureTurns({ dormouse, direct, prompt: "burst 2000", warmUp: 2, rounds: bursts });
    compare(`2,000 deltas, ${bursts} turns, median`, medianOf(turns.through, "last"), medianOf(turns.direct, "last"));
    compareCpu("2,000 deltas", turns.cpu);
    averages.push(loadavg()[0]);
  }
}

if (load.turns > 0) {
  const { lags, astray, unfinished, atOnce, bytesPerViewer, serverBytes, cores } = await measureLoad(dormouse, load);
  const name = `${load.turns} turns, ${load.sandboxes} sandboxes, ${load.viewers} viewers`;
  note(`${name}: streaming at once`, String(atOnce));
  note(`${name}: turns not finished`, String(unfinished));
  note(`${name}: viewers astray`, String(astray));
  note(`${name}: lag p50 of ${lags.length}`, milliseconds(quantile(lags, 0.5)));
  note(`${name}: lag p99`, milliseconds(quantile(lags, 0.99)));
  note(`${name}: server memory a viewer`, megabytes(bytesPerViewer));
  note(`${name}: server memory`, megabytes(serverBytes));
  for (const [program, used] of Object.entries(cores)) note(`${name}: cores used by ${program}`, used.toFixed(2));
  averages.push(loadavg()[0]);
  if (astray + unfinished > 0) process.exitCode = 1;
}

console.table(rows);
console.log(`Load average of the machine meanwhile: ${averages.map((average) => average?.toFixed(1)).join(", ")}`);

async function chooseModel(): Promise<void> {
  const { provider } = await dormouse.call<{ provider: { id: string } }>("POST", "/api/v1/admin/providers", {
    kind: "openai-compatible",
    name: "Scripted",
    baseUrl: model.url,
  });
  await dormouse.call("PUT", `/api/v1/admin/providers/${provider.id}/models`, {
    models: [{ id: "scripted", name: "Scripted", enabled: true }],
  });
  const chosen = { providerId: provider.id, modelId: "scripted" };
  await dormouse.call("PUT", "/api/v1/admin/default-model", { model: chosen });
}
