import { z } from "zod";
import { idempotencyKey } from "@/app/lib/idempotency-key.ts";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { parseInput } from "@/server/lib/parse-input.ts";
import { services } from "@/server/services.ts";

const newTurn = z.object({ prompt: z.string("The message is missing."), idempotencyKey: z.string().optional() });

/** The key comes in the header `Idempotency-Key` or in the body: a repeated call gives the turn that is there, and 422 with other words. */
export const POST = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const { prompt, ...body } = await readJson(request, newTurn);
  const key = idempotencyKey(request.headers.get("idempotency-key") ?? body.idempotencyKey);
  const turn = await services().turns.start(viewer, { sessionId, prompt, idempotencyKey: key });
  return Response.json({ turn }, { status: 202 });
});

const maxLimit = 200;
const limitProblem = { error: `limit must be a whole number from 1 to ${maxLimit}.` };
const page = z.object({
  before: z.uuid("before must be the id of a turn.").optional(),
  limit: z.coerce.number(limitProblem).int(limitProblem).min(1, limitProblem).max(maxLimit, limitProblem).default(50),
});

/** The newest turns, oldest of them first; those before them by `before`, with what the page says in `earlier`. */
export const GET = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const given = parseInput(page, Object.fromEntries(new URL(request.url).searchParams));
  if (!(await services().sessions.find(viewer, sessionId)))
    throw new AppError("not-found", "There is no such session.");
  return Response.json(await services().turns.list(viewer, sessionId, given));
});
