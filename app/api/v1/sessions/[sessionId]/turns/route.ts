import { z } from "zod";
import { idempotencyKey } from "@/app/lib/idempotency-key.ts";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

const newTurn = z.object({ prompt: z.string("The message is missing."), idempotencyKey: z.string().optional() });

/** The key comes in the header `Idempotency-Key` or in the body: a repeated call gives the turn that is there. */
export const POST = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { prompt, ...body } = await readJson(request, newTurn);
  const key = idempotencyKey(request.headers.get("idempotency-key") ?? body.idempotencyKey);
  const turn = await services().turns.start(viewer, { sessionId, prompt, idempotencyKey: key });
  return Response.json({ turn }, { status: 202 });
});

export const GET = route<{ sessionId: string }>(async (_request, { sessionId }) => {
  const viewer = await requireUser();
  if (!(await services().sessions.find(viewer, sessionId)))
    throw new AppError("not-found", "There is no such session.");
  return Response.json({ turns: await services().turns.list(viewer, sessionId) });
});
