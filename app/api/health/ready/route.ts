import { route } from "@/app/lib/route-handler.ts";
import { AppError } from "@/server/errors.ts";
import { services } from "@/server/services.ts";

export const dynamic = "force-dynamic";

export const GET = route(async () => {
  if (services().stopping.aborted) throw new AppError("unavailable", "The server is stopping.");
  await services().requireReady();
  return Response.json({ ready: true });
});
