import { ended, type TestServer } from "./test-turns.ts";

/** For an undo, a redo or a summary of that session. */
export const input = (sessionId: string) => ({ sessionId, idempotencyKey: crypto.randomUUID() });

export async function outputsOf(server: TestServer, sessionId: string): Promise<string[]> {
  const signal = AbortSignal.timeout(20_000);
  const { entries } = await server.services.files.list(server.viewer, { sessionId, path: "outputs", signal });
  return entries.map(({ path }) => path);
}

/** A session whose agent knows one name. */
export async function makeKnown(server: TestServer): Promise<string> {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  return sessionId;
}

/** Of two turns the second made a file, which the agent knows to be for Bo. */
export async function makeFile(server: TestServer): Promise<{ sessionId: string; made: string }> {
  const sessionId = await makeKnown(server);
  const made = await server.prompt(sessionId, "run `echo 1 > outputs/made.txt # for Bo`");
  await server.follow(sessionId, ended(2));
  return { sessionId, made };
}
