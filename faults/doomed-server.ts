import type { Viewer } from "../server/auth/index.ts";
import { type TestPlace, wireTestServer } from "../server/turns/test-wiring.ts";

/** A server of its own that begins turns, says their ids, and then waits to be killed. */
const { place, viewer, sessionId, prompts } = JSON.parse(process.argv[2] ?? "") as {
  place: TestPlace;
  viewer: Viewer;
  sessionId: string;
  prompts: string[];
};
const { services, resume } = await wireTestServer(place);
await resume(AbortSignal.timeout(30_000));
const turnIds: string[] = [];
for (const prompt of prompts) {
  const idempotencyKey = crypto.randomUUID();
  turnIds.push((await services.turns.start(viewer, { sessionId, prompt, idempotencyKey })).id);
}
console.log(turnIds.join(" "));
setInterval(() => {}, 60_000);
