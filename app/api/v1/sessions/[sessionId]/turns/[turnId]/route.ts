import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

type Key = { sessionId: string; turnId: string };

const change = z
  .object({ prompt: z.string().optional(), before: z.uuid("That is not a turn.").nullable().optional() })
  .refine(
    ({ prompt, before }) => prompt !== undefined || before !== undefined,
    "Send a prompt, or the turn that this one should come before.",
  );

export const GET = route<Key>(async (_request, key) => {
  const turn = await services().turns.find(await requireUser(), key);
  if (!turn) throw new AppError("not-found", "There is no such message.");
  return Response.json({ turn });
});

/**
 * Other words, another position in the queue (`before` a turn, or null for its end), or both in one
 * write. 409 once it has begun: then nothing was changed.
 */
export const PATCH = route<Key>(async (request, key) => {
  const viewer = await requireUser();
  const { prompt, before } = await readJson(request, change);
  return Response.json({ turn: await services().turns.change(viewer, { ...key, prompt, before }) });
});

/** Takes a message back that has not begun. */
export const DELETE = route<Key>(async (_request, key) => {
  const viewer = await requireUser();
  await services().turns.removeQueued(viewer, key);
  return new Response(null, { status: 204 });
});
