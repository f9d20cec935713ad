import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { sessions } from "../../db/schema/index.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import type { TestServer } from "./test-turns.ts";

/** Part of a command: it goes on when the test lets it, and what has to happen meanwhile is not in a hurry. */
export const untilLetGo = "until [ -e go ]; do sleep 0.1; done";

export async function letGo(server: TestServer, sessionId: string): Promise<void> {
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.select().from(sessions).where(eq(sessions.id, sessionId)),
  );
  const { workspace } = await createSandboxPaths(server.home).of(row?.sandboxId ?? "");
  await writeFile(join(workspace, "sessions", sessionId, "go"), "");
}
