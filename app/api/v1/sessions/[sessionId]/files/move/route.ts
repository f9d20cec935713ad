import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

const input = z.object({ from: z.string(), to: z.string() });

/** Renames or moves a file or folder; 409 where something of the new name is already. */
export const POST = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { from, to } = await readJson(request, input);
  await services().files.move(viewer, { sessionId, from, to, signal: request.signal });
  return new Response(null, { status: 204 });
});
