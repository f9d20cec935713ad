import { type Composition, compose } from "./test-composition.ts";

/** A server that wakes one sandbox, says so, and then waits to be killed. */
const { actor, sessionId, ...composition } = JSON.parse(process.argv[2] ?? "") as Composition & {
  actor: Parameters<Awaited<ReturnType<typeof compose>>["lifecycle"]["ensureRunning"]>[0]["actor"];
  sessionId: string;
};
const { lifecycle } = await compose(composition);
const signal = AbortSignal.timeout(60_000);
const { sidecar } = await lifecycle.ensureRunning({ actor, sessionId, onPhase: async () => {}, signal });
console.log(sidecar.bootId);
setInterval(() => {}, 60_000);
