import { AppError, errorBody, faultError, isAppError, needsReference, statusOf } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

type Parameters = Record<string, string>;

/** Renders errors once, in one shape. A call that changes something must come from our own pages or carry no cookie. */
export function route<P extends Parameters = Parameters>(
  handle: (request: Request, parameters: P) => Promise<Response>,
): (request: Request, context: { params: Promise<P> }) => Promise<Response> {
  return async (request, context) => {
    try {
      refuseForeignOrigin(request);
      return await handle(request, await context.params);
    } catch (error) {
      const known = isAppError(error) ? withReference(error) : internal(error);
      return Response.json(errorBody(known), { status: statusOf(known.kind) });
    }
  };
}

function internal(error: unknown): AppError {
  const unknown = faultError("internal", { cause: error });
  unknown.reference = services().reportError(error);
  return unknown;
}

function withReference(error: AppError): AppError {
  if (needsReference(error)) error.reference = services().reportError(error);
  return error;
}

function refuseForeignOrigin(request: Request): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  const origin = request.headers.get("origin");
  if (!origin || !request.headers.has("cookie")) return;
  const host = request.headers.get("host");
  if (origin === services().publicUrl || (host && URL.canParse(origin) && new URL(origin).host === host)) return;
  throw new AppError("forbidden", "This request came from another site and was refused.");
}
