import { z } from "zod";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { AppError } from "@/server/errors.ts";
import { parseInput } from "@/server/lib/parse-input.ts";
import { services } from "@/server/services.ts";

const maxLimit = 200;
const wholeNumber = (name: string, max: number) => {
  const error = `${name} must be a whole number from 1 to ${max}.`;
  return z.coerce.number({ error }).int({ error }).min(1, { error }).max(max, { error });
};
const query = z.object({
  under: wholeNumber("under", Number.MAX_SAFE_INTEGER).optional(),
  before: wholeNumber("before", Number.MAX_SAFE_INTEGER).optional(),
  limit: wholeNumber("limit", maxLimit).default(50),
});

/**
 * A page of the log: the newest entries at the root, or `under` the tool call of that number, and the ones before them by
 * the page's `earlier`.
 */
export const GET = route<{ sessionId: string }>(async (request, { sessionId }) => {
  const viewer = await requireUser();
  const given = parseInput(query, Object.fromEntries(new URL(request.url).searchParams));
  const page = await services().log.page({ actor: viewer, sessionId, ...given });
  if (!page) throw new AppError("not-found", "There is no such session.");
  return Response.json(page);
});
