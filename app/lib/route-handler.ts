import { errorBody, statusOf, toReportedError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

type Parameters = Record<string, string | string[]>;

/** Renders errors once, in one shape. Where a call may come from is the entrance's business (`server/boot/entrance`). */
export function route<P extends Parameters = Record<string, string>>(
  handle: (request: Request, parameters: P) => Promise<Response>,
): (request: Request, context: { params: Promise<P> }) => Promise<Response> {
  return async (request, context) => {
    try {
      return await handle(request, await context.params);
    } catch (error) {
      const known = toReportedError(error, services().reportError);
      return Response.json(errorBody(known), { status: statusOf(known.kind) });
    }
  };
}
