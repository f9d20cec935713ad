import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

const body = z.object({ minutes: z.number().int() });

/** After how many minutes sandboxes of the organisation sleep, where their person chose nothing else; 0: never. */
export const GET = route(async () =>
  Response.json({ minutes: await services().sandboxes.idleLimit(await requireAdmin()) }),
);

export const PUT = route(async (request) => {
  const viewer = await requireAdmin();
  const { minutes } = await readJson(request, body);
  await services().sandboxes.setIdleLimit(viewer, minutes);
  return Response.json({ minutes });
});
